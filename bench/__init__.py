"""Measurements, each against a base line of the same run."""
