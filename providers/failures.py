"""What a failed call of the Messages API means, in our words: nothing the provider wrote passes (M2, REQ-H8).

An error inside a stream comes with status 200, so its type decides and the status only where there is no type.
"""

import math
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from protocol.errors import ErrorKind, ProviderError
from protocol.model import Usage

_KINDS: dict[str, ErrorKind] = {
    "rate_limit_error": "rate_limited",
    "overloaded_error": "upstream",
    "api_error": "upstream",
    "timeout_error": "timeout",
    "conflict_error": "upstream",
    "invalid_request_error": "invalid",
    "request_too_large": "too_large",
    "authentication_error": "not_configured",
    "permission_error": "not_configured",
    "billing_error": "not_configured",
    "not_found_error": "not_configured",
    # Amazon's, which begin with a capital letter in a header
    "throttlingException": "rate_limited",
    "serviceQuotaExceededException": "rate_limited",
    "modelNotReadyException": "rate_limited",
    "modelTimeoutException": "timeout",
    "validationException": "invalid",
}
_STATUSES: dict[int, ErrorKind] = {
    400: "invalid",
    401: "not_configured",
    402: "not_configured",
    403: "not_configured",
    404: "not_configured",
    408: "timeout",
    413: "too_large",
    422: "invalid",
    429: "rate_limited",
    504: "timeout",
}
_WORDS: dict[ErrorKind, str] = {
    "rate_limited": "The model is busy: too many requests.",
    "upstream": "The model provider failed.",
    "timeout": "The model did not answer in time.",
    "invalid": "The model provider did not accept the request.",
    "too_large": "The conversation is too large for the model provider.",
    "context_overflow": "The conversation is too long for the model.",
    "not_configured": "The model provider refused our credentials or does not offer this model.",
}
# The provider has no code for this; the phrases are stable since 2024 and a miss is still a typed `invalid`.
_TOO_LONG = re.compile("(prompt|input) is too long", re.IGNORECASE)


_BOUND = "bound to a different conversation"  # of a thought that is sent back behind other messages


def failure(
    kind: ErrorKind, *, retry_after: float | None = None, usage: Usage | None = None, over: bool = False
) -> ProviderError:
    """A failure of this kind in our words."""
    return ProviderError(kind, _WORDS[kind], retry_after=retry_after, usage=usage, over=over)


def refusal(
    status: int, *, error_type: str | None, code: str | None, text: str | None, headers: Mapping[str, str]
) -> ProviderError:
    """What an error answer means. `text` is the provider's own and only looked at."""
    kind = _KINDS.get(error_type or _amazon(headers)) or _STATUSES.get(status, "upstream")
    if kind == "invalid" and _TOO_LONG.search(text or ""):
        kind = "context_overflow"
    if spent(code):
        kind = "not_configured"  # it comes as 429, and trying again until next month does not help
    return failure(kind, retry_after=_retry_after(headers))


def spent(code: str | None) -> bool:
    """Whether the money is gone, rather than the patience."""
    return "spend_limit" in (code or "")


def is_bound(text: str | None) -> bool:
    """Whether the history is refused for thoughts that were had behind other messages."""
    return _BOUND in (text or "")


def _amazon(headers: Mapping[str, str]) -> str:
    """The type of Amazon's error answers: the body has none."""
    kind = headers.get("x-amzn-errortype", "").partition(":")[0]
    return kind[:1].lower() + kind[1:]


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, where the answer names them in any of the three ways there are."""
    try:
        milliseconds = headers.get("retry-after-ms")
        seconds = float(milliseconds) / 1000 if milliseconds else float(headers.get("retry-after", "nan"))
    except ValueError:
        return _until(headers)
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _until(headers: Mapping[str, str]) -> float | None:
    """Seconds up to the date it names, by the clock that the answer itself tells: ours may be another."""
    try:
        then, now = parsedate_to_datetime(headers["retry-after"]), parsedate_to_datetime(headers["date"])
        return max(0.0, (then - now).total_seconds())
    except (KeyError, ValueError, TypeError):
        return None
