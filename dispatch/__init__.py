"""Which transport a turn takes."""
