"""Drives the engine with real ports. The same code on both transports."""
