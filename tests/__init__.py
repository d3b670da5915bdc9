"""Tests. One folder is one tier and one marker."""
