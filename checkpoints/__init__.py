"""The durable state of a run: one port with numbered laws, in memory and on Redis."""
