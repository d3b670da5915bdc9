"""What an older client or a plain reader needs changed about finished frames, index for index.

A projection works on bytes: whole frames in, the same number of whole frames out, each with the index it had. A frame may
lose keys or be renamed, it never vanishes, so every reader counts the same. For the newest clients nothing is to be done
and the same object comes back.

Because JSON stands on one line and begins with the frame's type, a pattern anchored at a line's start cannot match inside
what a person, a model or a tool wrote.
"""

import re
from dataclasses import dataclass
from typing import Literal

Sdk = Literal[5, 6, 7]  # major version of the AI SDK that the client runs
Wire = Literal["events", "data"]  # data: without event lines, for a reader that only has `onmessage`
Rule = tuple[re.Pattern[bytes], bytes]

# A chunk type that a client's schema does not know ends its turn; a data chunk of any name passes. This one is kept: those
# clients keep what was withdrawn too, and it marks where that ends.
_RESET: Rule = (
    re.compile(rb'^event: reset-step\ndata: \{"type":"reset-step"\}$', re.MULTILINE),
    b'event: data-reset\ndata: {"type":"data-reset","data":{}}',
)


def _as_data(*kinds: str) -> Rule:
    """The same in a data chunk; transient, because the parts of a stored message are those of the newest SDK."""
    named = "|".join(kinds).encode()
    pattern = rb'^event: (%b)\ndata: \{"type":"(?:%b)",(.*)\}$' % (named, named)
    return re.compile(pattern, re.MULTILINE), rb'event: data-\1\ndata: {"type":"data-\1","data":{\2},"transient":true}'


_SAID_6 = _as_data("steering-message", "tool-approval-response")
_SAID_5 = _as_data("steering-message", "tool-approval-response", "tool-approval-request")
_DENIED: Rule = (
    re.compile(rb'^event: tool-output-denied\ndata: \{"type":"tool-output-denied",(.*)\}$', re.MULTILINE),
    rb'event: tool-output-error\ndata: {"type":"tool-output-error",\1,"errorText":"Denied.","dynamic":true}',
)
# SDK 5 has strict shapes and knows neither of these keys.
_FINISH: Rule = (re.compile(rb'^data: \{"type":"finish",.*\}$', re.MULTILINE), b'data: {"type":"finish"}')
_ABORT: Rule = (re.compile(rb'^data: \{"type":"abort",.*\}$', re.MULTILINE), b'data: {"type":"abort"}')
_UNNAMED: Rule = (re.compile(rb"^event: .*\n", re.MULTILINE), b"")

_BY_SDK: dict[Sdk, tuple[Rule, ...]] = {7: (), 6: (_RESET, _SAID_6), 5: (_RESET, _SAID_5, _DENIED, _FINISH, _ABORT)}


@dataclass(frozen=True, slots=True)
class Projection:
    """How one reader gets its frames: call it with finished bytes."""

    sdk: Sdk = 7
    wire: Wire = "events"

    def __call__(self, payload: bytes) -> bytes:
        for pattern, replacement in _BY_SDK[self.sdk]:
            payload = pattern.sub(replacement, payload)
        return payload if self.wire == "events" else _UNNAMED[0].sub(_UNNAMED[1], payload)
