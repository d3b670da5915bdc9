"""Files that messages attach: who owns them, what they are, and their bytes, beside the conversations that use them.

In the database and in no folder: every process of a deployment sees the same files, a file and its use are written together,
and a backup holds both. That is for files of some megabytes, not for films.

Laws
 K1  `keep` keeps a file once an owner, by its content: the same bytes again are the same id, under the name they came with
     first, and cost no room. Two owners never share one.
 K2  A file that would take its owner past the room he has is refused, and so is the second of two that fit only one by one.
 K3  `find` and `content` know the owner's files alone. Foreign, unknown and deleted are the same nothing (LAW-P5).
 K4  A file that a conversation uses stays until the last conversation that uses it is deleted, and goes with that one.
 K5  A file that none uses goes a while after it was last uploaded (`sweep`), never before.
"""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, delete, exists, func, insert, select, text, update

from protocol.errors import TurnkeepError
from records.database import Database
from records.schema import file_content, file_uses, files
from records.values import Key

SWEPT_AT_ONCE: Final = 50  # files of a transaction: their bytes go with them


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """What is known of a file. `size` is in bytes."""

    id: str
    media_type: str
    name: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A file that wants to be kept. `media_type` is what its content is, whatever its sender called it."""

    tenant: str
    owner: str
    media_type: str
    name: str
    content: bytes
    now_ms: int

    @property
    def id(self) -> str:
        """The id of this content of this owner's."""
        digest = hashlib.sha256(self.content).hexdigest()
        return "file_" + hashlib.sha256(f"{self.tenant}\0{self.owner}\0{digest}".encode()).hexdigest()[:32]


class Files:
    """The files of a deployment. Methods raise TurnkeepError as those of `records.records.Records` do."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, upload: Upload, room: int) -> tuple[File, bool]:
        """The file, and whether it is new. `room`: bytes that its owner's files may have together.

        Raises:
            TurnkeepError: `too_large`, with code `quota`.
        """
        return await self._database.write(lambda connection: _keep(connection, upload, room))

    async def find(self, tenant: str, owner: str, file_ids: Collection[str]) -> dict[str, File]:
        """Those of these files that are the owner's, by id."""
        mine = (files.c.tenant == tenant, files.c.owner == owner, files.c.id.in_(file_ids))
        query = select(files).where(*mine)

        def read(connection: Connection) -> dict[str, File]:
            return {row["id"]: _file(row) for row in connection.execute(query).mappings()}

        return await self._database.read(read)

    async def content(self, tenant: str, owner: str, file_id: str) -> bytes | None:
        """A file's bytes; None where it is not the owner's."""
        mine = (files.c.tenant == tenant, files.c.owner == owner, files.c.id == file_id)
        query = select(file_content.c.content).join(files).where(*mine)
        return await self._database.read(lambda connection: connection.execute(query).scalar_one_or_none())

    async def sweep(self, before_ms: int) -> int:
        """Delete some of the files that no conversation uses and nobody uploaded since; how many these were."""
        return await self._database.write(lambda connection: _sweep(connection, before_ms))

    async def drop(self, tenant: str, owner: str) -> None:
        """Delete those of an owner's files that no conversation uses, however new."""
        mine = (files.c.tenant == tenant, files.c.owner == owner)
        await self._database.write(lambda connection: _delete_unused(connection, *mine))


def use(connection: Connection, key: Key, file_ids: Sequence[str]) -> bool:
    """Note that a conversation uses these files. False where one of them is not its owner's; then nothing was written."""
    if not file_ids:
        return True
    wanted = set(file_ids)
    mine = (files.c.tenant == key.tenant, files.c.owner == key.owner, files.c.id.in_(wanted))
    found = set(connection.execute(select(files.c.id).where(*mine).order_by(files.c.id).with_for_update()).scalars())
    if found != wanted:
        return False
    used = select(file_uses.c.file_id).where(*_by(key))
    news = wanted - set(connection.execute(used).scalars())
    rows = [{"tenant": key.tenant, "conversation_id": key.conversation_id, "file_id": one} for one in sorted(news)]
    if rows:
        connection.execute(insert(file_uses), rows)
    return True


def leave(connection: Connection, key: Key) -> None:
    """A conversation uses its files no more: those that no other one uses are deleted."""
    used = connection.execute(select(file_uses.c.file_id).where(*_by(key))).scalars().all()
    connection.execute(delete(file_uses).where(*_by(key)))
    _delete_unused(connection, files.c.id.in_(used))


def _keep(connection: Connection, upload: Upload, room: int) -> tuple[File, bool]:
    if connection.dialect.name == "postgresql":
        # Two uploads would each count without the other. SQLite has one writer anyway.
        lock = text("SELECT pg_advisory_xact_lock(hashtextextended(:owner, 1))")
        connection.execute(lock, {"owner": f"{upload.tenant}\n{upload.owner}"})
    file_id = upload.id
    known = connection.execute(select(files).where(files.c.id == file_id).with_for_update()).mappings().one_or_none()
    if known is not None:
        connection.execute(update(files).where(files.c.id == file_id).values(touched_ms=upload.now_ms))
        return _file(known), False
    size = len(upload.content)
    taken = select(func.coalesce(func.sum(files.c.size), 0)).where(
        files.c.tenant == upload.tenant, files.c.owner == upload.owner
    )
    if connection.execute(taken).scalar_one() + size > room:
        raise TurnkeepError("too_large", "There is no room for more of your files.", details={"code": "quota"})
    row = {"id": file_id, "media_type": upload.media_type, "name": upload.name, "size": size}
    owner = {"tenant": upload.tenant, "owner": upload.owner, "touched_ms": upload.now_ms}
    connection.execute(insert(files).values(**row, **owner))
    connection.execute(insert(file_content).values(file_id=file_id, content=upload.content))
    return File(id=file_id, media_type=upload.media_type, name=upload.name, size=size), True


def _sweep(connection: Connection, before_ms: int) -> int:
    old = select(files.c.id).where(files.c.touched_ms < before_ms, _unused()).limit(SWEPT_AT_ONCE)
    found = connection.execute(old).scalars().all()
    return _delete_unused(connection, files.c.id.in_(found), files.c.touched_ms < before_ms)


def _delete_unused(connection: Connection, *which: ColumnElement[bool]) -> int:
    # Locked first and asked then: who came to use one, or sent it again, while we waited for the lock is seen.
    connection.execute(select(files.c.id).where(*which).order_by(files.c.id).with_for_update())
    return connection.execute(delete(files).where(*which, _unused())).rowcount


def _unused() -> ColumnElement[bool]:
    return ~exists().where(file_uses.c.file_id == files.c.id)


def _by(key: Key) -> tuple[ColumnElement[bool], ...]:
    return file_uses.c.tenant == key.tenant, file_uses.c.conversation_id == key.conversation_id


def _file(row: Any) -> File:
    return File(id=row["id"], media_type=row["media_type"], name=row["name"], size=row["size"])
