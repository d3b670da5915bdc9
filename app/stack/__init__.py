"""The embedded stack: Valkey, Temporal, workers and API as one process tree under one supervisor.

For one machine. Everything it keeps lies in one folder, which one stack at a time may use.
"""
