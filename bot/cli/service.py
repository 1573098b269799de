"""The service's settings for the command line: what is wrong with them is said in one line each."""

from __future__ import annotations

import sys

import click
from alembic.util import CommandError
from pydantic import ValidationError
from sqlalchemy import make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from bot.adapters.store import Store
from bot.settings import PREFIX, Settings
from bot.wiring import store_of

NO_DATABASE = (SQLAlchemyError, CommandError, OSError)  # CommandError: its tables are newer than this kernelgate


def read_settings() -> Settings:
    """The settings, or exit 2 with each variable that can't be used."""
    try:
        return Settings()
    except (ValidationError, OSError) as error:
        for line in faults(error):
            click.echo(line, err=True)
        sys.exit(2)


def ready_store(settings: Settings) -> Store:
    """The store with its tables up to date, or exit 2 with one line on why there is none."""
    try:
        return store_of(settings)
    except NO_DATABASE as error:
        click.echo(database_fault(settings, error), err=True)
        sys.exit(2)


def database_fault(settings: Settings, error: Exception) -> str:
    """One line on why the database can't be used, without its password and the statement that found out."""
    where = make_url(settings.database).render_as_string(hide_password=True)
    why = str(error.orig if isinstance(error, DBAPIError) else error)
    return f"{PREFIX}DATABASE: {where} can't be used: {' '.join(why.split())}"


def faults(error: ValidationError | OSError) -> list[str]:
    """One line for each setting at fault; never its value, which may be a secret."""
    if isinstance(error, OSError):
        return [f"a settings file can't be read: {error}"]
    return [
        f"{PREFIX}{'_'.join(str(part) for part in one['loc'][:1]).upper()}: {one['msg'].removeprefix('Value error, ')}"
        for one in error.errors()
    ]
