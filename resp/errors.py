"""What a server's error replies mean to us.

    StoreUnavailable (protocol.errors)   the server cannot do it now: callers synchronise again by index
    ReplyError                           it refused what was sent: our mistake
    └── ScriptMissing                    it does not know the script: send its source

The server's own words stay in ReplyError; StoreUnavailable reaches people and carries ours.
"""

from protocol.errors import StoreUnavailable

_UNAVAILABLE = {
    "OOM": "The run store is out of memory.",
    "READONLY": "The run store is a replica that takes no writes.",
    "LOADING": "The run store is still loading its data.",
    "BUSY": "The run store is busy with a script.",
    "MISCONF": "The run store cannot save its data.",
    "NOREPLICAS": "The run store has too few replicas.",
    "MASTERDOWN": "The run store has lost its primary.",
    "MOVED": "The run store has moved these keys to another node.",
    "ASK": "The run store is moving these keys to another node.",
    "TRYAGAIN": "The run store is moving these keys to another node.",
    "CLUSTERDOWN": "The run store's cluster is down.",
    "NOAUTH": "The run store asks for a password.",
    "WRONGPASS": "The run store refuses the password.",
    "NOPERM": "The run store does not permit this.",
}


class ReplyError(RuntimeError):
    """The server refused a command. `code` is the first word of its answer."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.code = text.partition(" ")[0]


class ScriptMissing(ReplyError):
    """The server's script cache does not hold the script, as after a restart."""


def error_of(text: str) -> ReplyError | StoreUnavailable:
    """Translate an error reply."""
    code = text.partition(" ")[0]
    if code in _UNAVAILABLE:
        return StoreUnavailable(_UNAVAILABLE[code])
    return ScriptMissing(text) if code == "NOSCRIPT" else ReplyError(text)
