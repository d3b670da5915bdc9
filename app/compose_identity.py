"""Who is let in and how often, out of the settings."""

import asyncio
from pathlib import Path
from typing import Final

import httpx2
from limits import RateLimitItem, parse

from api.jwks import KeySet, Source
from api.ports import Admitted, Quota
from api.web_tokens import WebTokens
from app.settings import Settings
from app.settings_reading import RefusedSettings
from protocol.clock import Clock

FETCH_SECONDS: Final = 3.0
FETCH_BYTES: Final = 256 * 1024
_IN_PRODUCTION: Final = ("600/minute", "60/minute", 20)


def admitted(settings: Settings, clock: Clock) -> Admitted:
    """What lets somebody in. Raises RefusedSettings."""
    kinds = settings.admit.split(",")
    return Admitted(
        sessions="session" in kinds,
        keys="key" in kinds,
        web_tokens=_web_tokens(settings, clock) if "jwt" in kinds and settings.jwks else None,
        origins=frozenset(origin for origin in settings.origins.split(",") if origin),
    )


def quota(settings: Settings) -> Quota:
    """The bounds on asking."""
    address, owner, active = _IN_PRODUCTION if settings.environment == "production" else ("off", "off", 0)
    return Quota(
        address=_rate(settings.address_rate or address),
        owner=_rate(settings.owner_rate or owner),
        active=active if settings.owner_turns is None else settings.owner_turns,
    )


def _rate(text: str) -> RateLimitItem | None:
    return None if text == "off" else parse(text)


def _web_tokens(settings: Settings, clock: Clock) -> WebTokens:
    if not settings.jwt_issuer or not settings.jwt_audience:
        # Without them a token that the issuer made for anybody else would open this service.
        raise RefusedSettings("TURNKEEP_JWKS: needs TURNKEEP_JWT_ISSUER and TURNKEEP_JWT_AUDIENCE")
    return WebTokens(
        keys=KeySet(source(settings.jwks), clock),
        issuer=settings.jwt_issuer,
        audience=settings.jwt_audience,
        algorithms=frozenset(settings.jwt_algorithms.split(",")),
        leeway_ms=settings.jwt_leeway_seconds * 1_000,
        tenant_claim=settings.jwt_tenant_claim,
        tier_claim=settings.jwt_tier_claim,
    )


def source(place: str) -> Source:
    """Where an issuer's keys are: an address or a file. It raises OSError or ValueError where they cannot be had."""

    async def from_file() -> bytes:
        return await asyncio.to_thread(Path(place).read_bytes)

    async def from_address() -> bytes:
        try:
            async with asyncio.timeout(FETCH_SECONDS), httpx2.AsyncClient(timeout=FETCH_SECONDS) as client:
                return await _fetch(client, place)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ValueError(type(error).__name__) from error

    return from_address if "://" in place else from_file


async def _fetch(client: httpx2.AsyncClient, address: str) -> bytes:
    """The answer's bytes, no redirect followed and no more than FETCH_BYTES taken."""
    content = bytearray()
    async with client.stream("GET", address, headers={"accept": "application/json"}) as response:
        if response.status_code != httpx2.codes.OK:
            raise ValueError(f"status {response.status_code}")
        async for piece in response.aiter_bytes():
            content += piece
            if len(content) > FETCH_BYTES:
                raise ValueError("too large")
    return bytes(content)
