"""API keys as the records hold them: what they may do, and a hash of the key. The key itself is nowhere."""

from sqlalchemy import Connection, insert, select, update

from records.schema import api_keys
from records.values import ApiKey


def add(connection: Connection, key: ApiKey) -> None:
    """Insert the key. Raises IntegrityError where its prefix is taken."""
    connection.execute(insert(api_keys).values(**_row(key)))


def find(connection: Connection, prefix: str) -> ApiKey | None:
    """The key that begins like this, revoked or not."""
    row = connection.execute(select(api_keys).where(api_keys.c.prefix == prefix)).mappings().one_or_none()
    return None if row is None else ApiKey(**{**row, "rights": frozenset(row["rights"])})


def listed(connection: Connection) -> tuple[ApiKey, ...]:
    """All keys, the oldest first."""
    rows = connection.execute(select(api_keys).order_by(api_keys.c.created_ms, api_keys.c.prefix)).mappings()
    return tuple(ApiKey(**{**row, "rights": frozenset(row["rights"])}) for row in rows)


def revoke(connection: Connection, prefix: str, now_ms: int) -> bool:
    """Let the key open nothing any more. False where there is none of this prefix. The first time stands."""
    wanted = api_keys.c.prefix == prefix
    connection.execute(update(api_keys).where(wanted, api_keys.c.revoked_ms.is_(None)).values(revoked_ms=now_ms))
    return connection.execute(select(api_keys.c.prefix).where(wanted)).first() is not None


def _row(key: ApiKey) -> dict[str, object]:
    row = {name: getattr(key, name) for name in ApiKey.__dataclass_fields__}
    return row | {"rights": sorted(key.rights)}
