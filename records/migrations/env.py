"""What alembic runs: the migrations, on the connection and inside the transaction that `records.migrate` hands over."""

from alembic import context

from records.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
