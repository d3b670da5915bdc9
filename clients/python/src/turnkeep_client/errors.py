"""What a caller can act on.

ClientError(kind, message)    the turn could not be read to its end
├── Refused                   the server said no; `kind`, `retryable` and `status` are its own
├── Unreachable               no connection for long; the run may well go on, so resume it later
├── Damaged                   what arrived cannot be read, also not the next time
└── Lost                      neither the run nor its answer is there: ask again

A turn that fails on the server raises nothing: it ends like any other, and `run.outcome` says so.
"""


class ClientError(Exception):
    """The turn could not be read to its end. `retryable` says whether the same may succeed later."""

    def __init__(self, kind: str, message: str, *, retryable: bool = False, status: int = 0) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.retryable = retryable
        self.status = status


class Refused(ClientError):
    """The server answered with an error. `handle` names the run that is in the way, where the answer is a conflict."""

    handle: str = ""


class Unreachable(ClientError):
    """The connection could not be restored."""


class Damaged(ClientError):
    """The log arrives with holes, or as bytes that nobody can read."""


class Lost(ClientError):
    """The run is gone and no stored message answers it."""
