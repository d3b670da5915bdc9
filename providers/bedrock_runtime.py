"""Claude at Amazon Bedrock's older endpoint, `InvokeModelWithResponseStream`, by the official SDK.

botocore frames the events and signs the requests. It is optional, so this file is imported only where somebody wants it. What
it raises in a call is an `upstream` failure, which may pass: that there are credentials was seen at the start.
"""

import struct

import boto3
from anthropic import AsyncAnthropicBedrock
from botocore.eventstream import ParserError
from botocore.exceptions import BotoCoreError
from botocore.parsers import ResponseParserError

from protocol.errors import TurnkeepError
from providers.anthropic import AnthropicProvider


class BedrockRuntimeProvider(AnthropicProvider):
    """Asks in one region. Its ids are `us.anthropic.claude-…`.

    Without an access key and its secret, the credentials are those that botocore finds. It looks for them here, which may
    block. Raises TurnkeepError "not_configured" where there are none.
    """

    name = "bedrock-runtime"
    first_party = False
    foreign: tuple[type[Exception], ...] = (BotoCoreError, ParserError, ResponseParserError, struct.error, RuntimeError)

    def __init__(self, region: str, *, base_url: str = "", access_key: str = "", secret_key: str = "") -> None:
        keys = {"aws_access_key": access_key or None, "aws_secret_key": secret_key or None}
        try:
            self._connect(AsyncAnthropicBedrock, aws_region=region, base_url=base_url or None, **keys)
            found = any(keys.values()) or self._client.api_key or boto3.Session().get_credentials()
        except (BotoCoreError, ValueError):  # a file that cannot be read, or a Bedrock API key beside the pair
            found = None
        if not found or bool(access_key) != bool(secret_key):
            raise TurnkeepError("not_configured", "There are no AWS credentials, or half a pair, or two kinds of them.")
