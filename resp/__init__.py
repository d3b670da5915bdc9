"""The Redis connection (RESP3, multiplexed, pushes) and how keys are spelled."""
