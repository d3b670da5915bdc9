"""The bodies of the activities."""
