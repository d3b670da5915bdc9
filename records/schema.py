"""The tables as queries see them. `migrations/` creates them; a test compares the two.

Times are milliseconds since the epoch. Messages and outputs go with their conversation, whose row stays without its title once it
is erased, so that its id is never used again; a run row holds no content and stays, too: it is the proof that a run id was
used (C5). Money is in millionths of a US dollar, and its rows stay, too.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    text,
)

from records.text import Document, Identifier, Label

metadata = MetaData()

conversations = Table(
    "conversations",
    metadata,
    Column("tenant", Identifier, primary_key=True),
    Column("id", Identifier, primary_key=True),
    Column("owner", Identifier, nullable=False),
    Column("title", Label, nullable=False),
    Column("active_run_id", Identifier),
    Column("next_sequence", Integer, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("updated_ms", BigInteger, nullable=False),
    Column("deleted_ms", BigInteger),
    Column("forgotten_ms", BigInteger),  # since when no run of the deleted conversation goes on and no log is kept
    Column("erased_ms", BigInteger),
    Index("conversations_of_owner", "tenant", "owner", "updated_ms"),
    Index(
        "conversations_to_erase",
        "deleted_ms",
        sqlite_where=text("deleted_ms IS NOT NULL AND erased_ms IS NULL"),
        postgresql_where=text("deleted_ms IS NOT NULL AND erased_ms IS NULL"),
    ),
)

messages = Table(
    "messages",
    metadata,
    Column("tenant", Identifier, primary_key=True),
    Column("conversation_id", Identifier, primary_key=True),
    # The place in the conversation is the key, not the id: a user's message id comes from the client, which may repeat
    # one or take one that an answer will need, and an answer that cannot be stored is a run that never ends.
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("id", Identifier, nullable=False),
    Column("role", Identifier, nullable=False),
    Column("run_id", Identifier, nullable=False),
    Column("parts", Document, nullable=False),
    Column("provider", Document),
    Column("model", Label, nullable=False),
    Column("outcome", Identifier, nullable=False),
    Column("usage", Document, nullable=False),
    Column("suggested", Document),
    Column("created_ms", BigInteger, nullable=False),
    Column("cost_micro_usd", BigInteger, nullable=False, server_default="0"),
    Column("superseded_by", Identifier),  # the run whose turn stands in its place
    ForeignKeyConstraint(
        ["tenant", "conversation_id"], ["conversations.tenant", "conversations.id"], ondelete="CASCADE"
    ),
)

runs = Table(
    "runs",
    metadata,
    Column("run_id", Identifier, primary_key=True),
    Column("tenant", Identifier, nullable=False),
    Column("owner", Identifier, nullable=False),
    Column("conversation_id", Identifier, nullable=False),
    Column("assistant", Identifier, nullable=False),
    Column("user_message_id", Identifier, nullable=False),
    Column("message_id", Identifier, nullable=False),
    Column("sequence", Integer, nullable=False),
    Column("status", Identifier, nullable=False),
    Column("kind", Identifier, nullable=False),
    Column("transport", Identifier, nullable=False),
    Column("memory", Boolean, nullable=False),
    Column("replaces", Identifier),
    Column("created_ms", BigInteger, nullable=False),
    Column("updated_ms", BigInteger, nullable=False),
    Column("ended_ms", BigInteger),
    Column("finished_ms", BigInteger),
    # Small however many runs there were: the sweeper reads it every few seconds.
    Index(
        "runs_unfinished",
        "updated_ms",
        sqlite_where=text("finished_ms IS NULL"),
        postgresql_where=text("finished_ms IS NULL"),
    ),
    Index("runs_by_time", "tenant", "created_ms", "run_id"),
)

outputs = Table(
    "outputs",
    metadata,
    Column("run_id", Identifier, primary_key=True),
    Column("call_id", Identifier, primary_key=True),
    Column("tenant", Identifier, nullable=False),
    Column("conversation_id", Identifier, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("content", Document, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    ForeignKeyConstraint(
        ["tenant", "conversation_id"], ["conversations.tenant", "conversations.id"], ondelete="CASCADE"
    ),
    Index("outputs_of_conversation", "tenant", "conversation_id"),
)

spend = Table(
    "spend",
    metadata,
    Column("run_id", Identifier, primary_key=True),
    Column("step", Integer, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("pipeline", Identifier, nullable=False),
    Column("day", Integer, nullable=False),
    Column("tenant", Identifier, nullable=False),
    Column("owner", Identifier, nullable=False),
    Column("conversation_id", Identifier, nullable=False),
    Column("model", Label, nullable=False),
    Column("state", Identifier, nullable=False),
    Column("estimated", Boolean, nullable=False),
    Column("micro_usd", BigInteger, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cache_read_tokens", BigInteger, nullable=False),
    Column("cache_write_tokens", BigInteger, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("settled_ms", BigInteger),
    Index("spend_of_days", "day", "pipeline"),
)

# What a pipeline's calls of a day come to, reserved ones included: one row, so that all who ask for room meet in it.
spend_days = Table(
    "spend_days",
    metadata,
    Column("pipeline", Identifier, primary_key=True),
    Column("day", Integer, primary_key=True, autoincrement=False),
    Column("micro_usd", BigInteger, nullable=False),
)

files = Table(
    "files",
    metadata,
    Column("id", Identifier, primary_key=True),
    Column("tenant", Identifier, nullable=False),
    Column("owner", Identifier, nullable=False),
    Column("media_type", Identifier, nullable=False),
    Column("name", Label, nullable=False),
    Column("size", Integer, nullable=False),
    Column("touched_ms", BigInteger, nullable=False),  # when it was last uploaded
    Index("files_of_owner", "tenant", "owner"),
    Index("files_by_age", "touched_ms"),
)

# Apart from what is known of a file, so that no query reads megabytes by the way.
file_content = Table(
    "file_content",
    metadata,
    Column("file_id", Identifier, ForeignKey("files.id", ondelete="CASCADE"), primary_key=True),
    Column("content", LargeBinary, nullable=False),
)

file_uses = Table(
    "file_uses",
    metadata,
    Column("tenant", Identifier, primary_key=True),
    Column("conversation_id", Identifier, primary_key=True),
    Column("file_id", Identifier, ForeignKey("files.id", ondelete="CASCADE"), primary_key=True),
    Index("file_uses_of_file", "file_id"),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("prefix", Identifier, primary_key=True),
    Column("digest", Identifier, nullable=False),  # SHA-256 of the whole key, in hex
    Column("name", Label, nullable=False),
    Column("tenant", Identifier, nullable=False),
    Column("owner", Identifier, nullable=False),
    Column("rights", Document, nullable=False),
    Column("tier", Identifier, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("expires_ms", BigInteger),
    Column("revoked_ms", BigInteger),
)
