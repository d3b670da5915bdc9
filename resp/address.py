"""Where a server is: `redis://`, `rediss://` (TLS) and `unix://` addresses as one value.

Nothing here is looked up or connected. The value never shows its password.
"""

from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

_PORT = 6379


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """One server. `path` is set for a unix socket, else `host` and `port` are."""

    host: str = ""
    port: int = _PORT
    path: str = ""
    tls: bool = False
    username: str = "default"
    password: str = field(default="", repr=False)
    database: int = 0


def parse_address(text: str) -> Address:
    """Read `redis[s]://[[user]:password@]host[:port][/database]` or `unix://[[user]:password@]/path[?db=N]`.

    Raises:
        ValueError: It is neither. The message does not repeat the text, which may hold a password.
    """
    try:
        parts = urlsplit(text)
        database, port = _database(parts.scheme, parts.path, parts.query), parts.port or _PORT
    except ValueError:
        raise ValueError("not an address of a Redis server") from None
    login = (unquote(parts.username or "") or "default", unquote(parts.password or ""))
    if parts.scheme == "unix" and parts.path:
        return Address(path=unquote(parts.path), username=login[0], password=login[1], database=database)
    if parts.scheme in ("redis", "rediss") and parts.hostname:
        return Address(
            host=parts.hostname,
            port=port,
            tls=parts.scheme == "rediss",
            username=login[0],
            password=login[1],
            database=database,
        )
    raise ValueError("not an address of a Redis server")


def _database(scheme: str, path: str, query: str) -> int:
    named = parse_qs(query).get("db", [""])[0] or ("" if scheme == "unix" else path.strip("/"))
    return int(named) if named else 0
