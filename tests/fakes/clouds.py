"""The strict upstream as the clouds have it: the model in the path, the version in the body, no beta, doors of their own.

Google's streams are Anthropic's, its other errors are not. Amazon's requests are signed, and its streams are framed: see
`tests/fakes/event_stream.py`.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.fakes import event_stream
from tests.fakes.anthropic_upstream import Event, Reply, Upstream, refused

PROJECT, REGION, TOKEN = "project-1", "europe-west1", "ya29.token"
ACCESS_KEY, SECRET_KEY = "AKIDEXAMPLE", "secret/key"
VERSIONS = {"2026-10-21", "vertex-2023-10-16", "bedrock-2023-05-31"}  # of the API, and the clouds' own before it

_VERTEX = re.compile(
    rf"/v1/projects/{PROJECT}/locations/{REGION}/publishers/anthropic/models/([^/:]+):streamRawPredict"
)
_BEDROCK = re.compile(r"/model/([^/]+)/invoke-with-response-stream")
_SIGNED = re.compile(
    rf"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/\d{{8}}/{REGION}/bedrock/aws4_request, "
    r"SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})"
)
_AMAZON = {
    "authentication_error": "AccessDeniedException", "rate_limit_error": "ThrottlingException",
    "not_found_error": "ResourceNotFoundException", "invalid_request_error": "ValidationException",
}  # fmt: skip


class _Cloud(Upstream):
    """What both have: the model in the path, and a door of its own."""

    path: re.Pattern[str]
    streams: bool  # whether the body says so
    foreign_status: int  # of who is not let in

    def turned_away(self, raw: bytes, headers: dict[str, str]) -> Reply | None:
        if not self.path.fullmatch(self.paths[-1]):
            return self.refused("not_found_error", 404)
        if not self.lets_in(raw, headers):
            return self.refused("authentication_error", self.foreign_status)
        wrong = _misplaced(json.loads(raw), headers, streams=self.streams)
        return self.refused("invalid_request_error", 400, wrong) if wrong else None

    def lets_in(self, raw: bytes, headers: dict[str, str]) -> bool:
        raise NotImplementedError

    def asked(self, request: Event) -> Event:
        return _placed(request, self.path, self.paths[-1])


class VertexUpstream(_Cloud):
    """Google Vertex AI's."""

    path, streams, foreign_status = _VERTEX, True, 401
    token = TOKEN

    def lets_in(self, raw: bytes, headers: dict[str, str]) -> bool:
        return headers.get("authorization") == f"Bearer {self.token}"

    def refused(self, kind: str, status: int, message: str = "sk-ant-secret", **headers: str) -> Reply:
        reply = refused(kind, status, message, **headers)
        if kind == "invalid_request_error":
            return reply  # the model's own, passed through
        own = {"error": {"code": status, "message": message, "status": kind.upper()}}
        return Reply([json.dumps(own).encode()], status=status, headers=reply.headers)


class BedrockRuntimeUpstream(_Cloud):
    """Amazon Bedrock's older endpoint."""

    path, streams, foreign_status = _BEDROCK, False, 403
    content_type = "application/vnd.amazon.eventstream"

    def lets_in(self, raw: bytes, headers: dict[str, str]) -> bool:
        return _is_signed(self.paths[-1], raw, headers)

    def refused(self, kind: str, status: int, message: str = "sk-ant-secret", **headers: str) -> Reply:
        named = {"x-amzn-errortype": f"{_AMAZON.get(kind, kind)}:http://internal.amazon.com/"}
        reply = refused(kind, status, message, **headers)
        return Reply([json.dumps({"message": message}).encode()], status=status, headers=reply.headers | named)

    def body(self, events: Sequence[Event]) -> bytes:
        metrics = {"amazon-bedrock-invocationMetrics": {"inputTokenCount": 10, "outputTokenCount": 9}}
        last = {"message_stop": metrics}
        return b"".join(event_stream.chunk(event | last.get(event["type"], {})) for event in events)

    def broken(self) -> bytes:
        return event_stream.exception("modelStreamErrorException", "Internal: key sk-ant-secret at http://10.0.0.1")

    def events(self, payload: bytes) -> Iterator[Event]:
        return event_stream.chunks(payload)


def _misplaced(body: Event, headers: dict[str, str], *, streams: bool) -> str:
    if body.get("anthropic_version") not in VERSIONS:
        return "anthropic_version: Field required"
    if "model" in body:
        return "model: Extra inputs are not permitted"
    if body.get("stream", False) is not streams:
        return "stream: Field required" if streams else "stream: Extra inputs are not permitted"
    if "anthropic_beta" in body or "anthropic-beta" in headers:
        return "invalid beta flag"
    return ""


def _placed(body: Event, path: re.Pattern[str], asked: str) -> Event:
    """The request with its model, by the name that the Messages API knows."""
    found = path.fullmatch(asked)
    assert found is not None
    return {"model": unquote(found[1]).rpartition("anthropic.")[2]} | _without(body, "anthropic_version")


def _without(body: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key != name}


def _is_signed(path: str, raw: bytes, headers: dict[str, str]) -> bool:
    """Whether the signature is the one that botocore would give."""
    found = _SIGNED.fullmatch(headers.get("authorization", ""))
    if found is None or not {"host", "x-amz-date"} <= set(found[1].split(";")):
        return False
    named = {name: headers[name] for name in found[1].split(";")}
    request = AWSRequest("POST", f"http://{headers['host']}{path}", headers=named, data=raw)
    request.context["timestamp"] = headers["x-amz-date"]
    signer = SigV4Auth(Credentials(ACCESS_KEY, SECRET_KEY), "bedrock", REGION)
    expected: str = signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
    return expected == found[2]
