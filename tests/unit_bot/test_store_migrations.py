"""Migrations: one head, up and down, the models match (pytest-alembic), on the SQLite that we ship with."""

from pathlib import Path

import pytest
from alembic.config import Config
from pytest_alembic.tests import (
    test_model_definitions_match_ddl,
    test_single_head_revision,
    test_up_down_consistency,
    test_upgrade,
)
from sqlalchemy import Engine

from bot.adapters.store import alembic_config, is_current, migrate
from bot.adapters.store.engine import open_engine, wal_is_safe

__all__ = ["test_model_definitions_match_ddl", "test_single_head_revision", "test_up_down_consistency", "test_upgrade"]


@pytest.fixture(name="alembic_config")
def config() -> Config:
    return alembic_config()


@pytest.fixture
def alembic_engine(tmp_path: Path) -> Engine:
    return open_engine(f"sqlite:///{tmp_path}/migrations.db")


def test_migrating_twice_is_migrating_once(alembic_engine: Engine) -> None:
    assert not is_current(alembic_engine)
    for _ in range(2):
        migrate(alembic_engine)
    assert is_current(alembic_engine)


def test_the_database_is_kept_in_wal_with_immediate_writes(alembic_engine: Engine) -> None:
    migrate(alembic_engine)
    with alembic_engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 5_000


@pytest.mark.parametrize("version", [(3, 44, 6), (3, 50, 7), (3, 51, 3), (3, 53, 4)])
def test_libraries_without_the_wal_bug(version: tuple[int, ...]) -> None:
    assert wal_is_safe(version)


@pytest.mark.parametrize("version", [(3, 40, 1), (3, 45, 0), (3, 50, 6), (3, 51, 2)])
def test_libraries_with_the_wal_bug(version: tuple[int, ...]) -> None:
    assert not wal_is_safe(version)
