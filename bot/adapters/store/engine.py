"""The database connection: SQLite (through pysqlite3) with WAL and immediate writes, or any other SQLAlchemy address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pysqlite3 import dbapi2
from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import Session, sessionmaker

BUSY_MS = 5_000  # GitHub waits 10 s for an answer
READ_ONLY = "kernelgate_read_only"


def wal_is_safe(version: tuple[int, ...]) -> bool:
    """Whether this SQLite has the fix of the WAL-reset bug (3.51.3, carried back to 3.50.7 and 3.44.6)."""
    return version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51) or (3, 44, 6) <= version < (3, 45)


def open_engine(address: str) -> Engine:
    """An engine on `address`; for SQLite every transaction that may write begins IMMEDIATE, so none fails half-way as busy."""
    url = make_url(address)
    if url.get_backend_name() != "sqlite":
        return create_engine(url, pool_pre_ping=True)
    if url.database:
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(url, module=dbapi2, connect_args={"timeout": BUSY_MS / 1000})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver must not begin transactions of its own
    journal = "WAL" if wal_is_safe(dbapi2.sqlite_version_info) else "DELETE"
    for pragma in (f"busy_timeout={BUSY_MS}", f"journal_mode={journal}", "foreign_keys=ON", "synchronous=FULL", "mmap_size=0"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    read_only = connection.get_execution_options().get(READ_ONLY, False)
    connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")


class Database:
    """Short transactions: `write` commits or rolls back as a whole, `read` sees one state and changes nothing."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._writer = sessionmaker(engine, expire_on_commit=False)
        self._reader = sessionmaker(engine.execution_options(**{READ_ONLY: True}), expire_on_commit=False)

    @property
    def dialect(self) -> Dialect:
        return self.engine.dialect

    @contextmanager
    def write(self) -> Iterator[Session]:
        with self._writer.begin() as session:
            yield session

    @contextmanager
    def read(self) -> Iterator[Session]:
        with self._reader() as session:
            yield session
