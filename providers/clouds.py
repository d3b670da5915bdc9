"""Claude's models at Amazon and at Google, by the official SDK: one port, other addresses, credentials and framing.

None of them is asked for a beta feature. Amazon's older endpoint frames its events and signs its requests with botocore, and
Google's tokens are renewed by google-auth: both are optional, so neither is imported before somebody wants its cloud. What
they raise is an `upstream` failure, which may pass: that there are credentials was seen at the start.
"""

import struct
from typing import Any

from anthropic import AsyncAnthropicBedrock, AsyncAnthropicBedrockMantle, AsyncAnthropicVertex

from protocol.errors import TurnkeepError
from providers.anthropic import AnthropicProvider

SCOPE = "https://www.googleapis.com/auth/cloud-platform"


class BedrockProvider(AnthropicProvider):
    """Amazon Bedrock's endpoint for the Messages API: the same wire, with a Bedrock API key. Its ids are `anthropic.claude-…`."""

    name = "bedrock"
    first_party = False

    def __init__(self, api_key: str, *, base_url: str) -> None:
        self._connect(AsyncAnthropicBedrockMantle, api_key=api_key, base_url=base_url)


class BedrockRuntimeProvider(AnthropicProvider):
    """Amazon Bedrock's older endpoint, `InvokeModelWithResponseStream`, in a region.

    Without an access key and its secret, the credentials are those that botocore finds. It looks for them here, which may
    block. Raises TurnkeepError "not_configured" where there are none.
    """

    name = "bedrock-runtime"
    first_party = False

    def __init__(self, region: str, *, base_url: str = "", access_key: str = "", secret_key: str = "") -> None:
        try:
            import boto3
            from botocore.eventstream import ParserError
            from botocore.exceptions import BotoCoreError
            from botocore.parsers import ResponseParserError
        except ImportError:
            raise TurnkeepError("not_configured", "boto3 is not installed.") from None
        self.foreign = (BotoCoreError, ParserError, ResponseParserError, struct.error, RuntimeError)
        keys = {"aws_access_key": access_key or None, "aws_secret_key": secret_key or None}
        try:
            self._connect(AsyncAnthropicBedrock, aws_region=region, base_url=base_url or None, **keys)
            found = any(keys.values()) or self._client.api_key or boto3.Session().get_credentials()
        except (BotoCoreError, ValueError):  # a file that cannot be read, or a Bedrock API key beside the pair
            found = None
        if not found or bool(access_key) != bool(secret_key):
            raise TurnkeepError("not_configured", "There are no AWS credentials, or half of them, or more than one kind.")


class VertexProvider(AnthropicProvider):
    """Google Vertex AI, in a project and a region. Its ids are `claude-…@…`, and its base address ends in `/v1`.

    Without a token, which lasts an hour, google-auth finds credentials and renews what they give. It looks for them here,
    which may block. Raises TurnkeepError "not_configured" where there are none.
    """

    name = "vertex"
    first_party = False

    def __init__(self, project: str, region: str, *, base_url: str = "", token: str = "") -> None:
        who = {"access_token": token} if token else {"credentials": self._found()}
        self._connect(AsyncAnthropicVertex, project_id=project, region=region, base_url=base_url or None, **who)

    def _found(self) -> Any:
        try:
            import google.auth
            import google.auth.transport.requests
            from google.auth.exceptions import GoogleAuthError
        except ImportError:
            raise TurnkeepError("not_configured", "google-auth is not installed.") from None
        self.foreign = (GoogleAuthError, RuntimeError)
        try:
            return google.auth.default(scopes=[SCOPE])[0]
        except GoogleAuthError:
            raise TurnkeepError("not_configured", "There are no Google credentials.") from None
