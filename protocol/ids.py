"""The shapes of ids.

A run id is a lower-case UUID. A conversation id comes from a client or from us and never contains a dot, a handle always
does: one path segment can therefore hold either and nobody has to guess.
"""

import re
from typing import NewType

RunId = NewType("RunId", str)
ConversationId = NewType("ConversationId", str)

RUN_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII)
CALL_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}", re.ASCII)
CONVERSATION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}", re.ASCII)
