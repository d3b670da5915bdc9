"""The commands of `python -m app`, one file each: `configure` names its arguments, `run` carries it out.

Only the module of the command that was asked for is imported: a worker has no use for the HTTP server, nor a look at the
settings for either.
"""
