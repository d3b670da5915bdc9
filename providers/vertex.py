"""Claude on Google Vertex AI, by the official SDK.

google-auth renews the tokens. It is optional, so this file is imported only where somebody wants it. What it raises in a call
is an `upstream` failure, which may pass: that there are credentials was seen at the start.
"""

from typing import Any

import google.auth
import google.auth.transport.requests  # the SDK renews tokens by it, and looks for it only then
from anthropic import AsyncAnthropicVertex
from google.auth.exceptions import GoogleAuthError

from protocol.errors import TurnkeepError
from providers.anthropic import AnthropicProvider

SCOPE = "https://www.googleapis.com/auth/cloud-platform"


class VertexProvider(AnthropicProvider):
    """Asks in one project and region. Its ids are `claude-…@…`, and its base address ends in `/v1`.

    Without a token, which lasts an hour, the credentials are those that google-auth finds. It looks for them here, which may
    block. Raises TurnkeepError "not_configured" where there are none.
    """

    name = "vertex"
    first_party = False
    foreign: tuple[type[Exception], ...] = (GoogleAuthError, RuntimeError)

    def __init__(self, project: str, region: str, *, base_url: str = "", token: str = "") -> None:
        who = {"access_token": token} if token else {"credentials": _found()}
        self._connect(AsyncAnthropicVertex, project_id=project, region=region, base_url=base_url or None, **who)


def _found() -> Any:
    """Google's application default credentials."""
    try:
        return google.auth.default(scopes=[SCOPE])[0]
    except GoogleAuthError:
        raise TurnkeepError("not_configured", "There are no Google credentials.") from None
