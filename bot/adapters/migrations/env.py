"""How Alembic runs here: on the connection it is handed, in batch mode, since SQLite can hardly ALTER."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection, Engine

from bot.adapters.store.tables import Base


def _run(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=Base.metadata, render_as_batch=True, compare_type=True)
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes["connection"]
if isinstance(given, Engine):
    with given.begin() as opened:
        _run(opened)
else:
    _run(given)
