"""The store: the database is the truth, and every method is one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine

from bot.adapters.store.asks import Asks
from bot.adapters.store.attempts import Attempts
from bot.adapters.store.baselines import Baselines
from bot.adapters.store.deliveries import Deliveries
from bot.adapters.store.engine import Database, open_engine
from bot.adapters.store.jobs import Jobs
from bot.adapters.store.nodes import Nodes
from bot.adapters.store.outbox import Outbox
from bot.adapters.store.runs import Runs
from bot.adapters.store.usage import Usages
from bot.adapters.store.waivers import Waivers


@dataclass(frozen=True)
class Store:
    """The groups of tables, over one database and one clock."""

    db: Database
    deliveries: Deliveries
    asks: Asks
    runs: Runs
    jobs: Jobs
    attempts: Attempts
    nodes: Nodes
    outbox: Outbox
    waivers: Waivers
    usage: Usages
    baselines: Baselines


def open_store(address: str, clock: Callable[[], float] = time.time) -> Store:
    """The store at a database address, as it is (see `migrate`)."""
    db = Database(open_engine(address))
    return Store(db, *(part(db, clock) for part in (Deliveries, Asks, Runs, Jobs, Attempts, Nodes, Outbox, Waivers, Usages, Baselines)))  # type: ignore[arg-type]


def alembic_config() -> Config:
    """Where the migrations lie inside the package."""
    config = Config()
    config.set_main_option("script_location", "bot.adapters:migrations")
    return config


def migrate(engine: Engine) -> None:
    """Bring the database to the newest version; safe to call from several processes."""
    config = alembic_config()
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def is_current(engine: Engine) -> bool:
    """Whether the database has the tables that this version of the code expects."""
    newest = ScriptDirectory.from_config(alembic_config()).get_current_head()
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision() == newest
