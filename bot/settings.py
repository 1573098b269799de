"""The service's settings: environment variables `KERNELGATE_…`, or files named by `KERNELGATE_…_FILE`."""

from __future__ import annotations

import ipaddress
import os
import re
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

PREFIX = "KERNELGATE_"
BROKER = "write it as redis://HOST:PORT/NUMBER, rediss://HOST:PORT/NUMBER (TLS) or redis+socket:///PATH"
DATABASE = "write it as sqlite:////FOLDER/FILE or another SQLAlchemy address"


class FileSource(PydanticBaseSettingsSource):
    """Reads the field `x` from the file that `KERNELGATE_X_FILE` names, so that no secret need stand in an environment."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        path = os.environ.get(f"{PREFIX}{field_name.upper()}_FILE")
        return (Path(path).read_text().strip() if path else None), field_name, False

    def __call__(self) -> dict[str, Any]:
        found = ((name, self.get_field_value(field, name)[0]) for name, field in self.settings_cls.model_fields.items())
        return {name: value for name, value in found if value is not None}


class Settings(BaseSettings):
    """All the control side needs to know of its surroundings; nothing here has a default that serves a stranger."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", hide_input_in_errors=True)

    repositories: Annotated[frozenset[str], NoDecode] = frozenset()
    webhook_secrets: Annotated[tuple[SecretStr, ...], NoDecode] = Field(default=(), max_length=2)
    database: str = "sqlite:///kernelgate.db"
    broker: str = "redis://127.0.0.1:6379/0"
    github_api: str = "https://api.github.com"
    github_app_id: int | None = None
    github_app_key: SecretStr | None = None
    github_token: SecretStr | None = None
    github_write_spacing: float = 1.0
    url: str = "http://127.0.0.1:8000"
    bind: str = "127.0.0.1:8000"
    web_workers: int = 2
    web_threads: int = 8
    card_seconds: float = 60.0

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], *sources: PydanticBaseSettingsSource, **named: PydanticBaseSettingsSource
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (named["init_settings"], named["env_settings"], FileSource(settings_cls))

    @field_validator("repositories", "webhook_secrets", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("repositories")
    @classmethod
    def _named_whole(cls, value: frozenset[str]) -> frozenset[str]:
        bad = sorted(name for name in value if name.count("/") != 1 or "*" in name)
        if bad:
            raise ValueError(f"write each repository as OWNER/NAME, not {', '.join(bad)}")
        return frozenset(name.lower() for name in value)

    @field_validator("github_api")
    @classmethod
    def _safe_address(cls, value: str) -> str:
        if not is_safe_address(value):
            raise ValueError("the GitHub API is spoken to over https only (http on loopback alone)")
        return value.rstrip("/")

    @field_validator("database")
    @classmethod
    def _usable_database(cls, value: str) -> str:
        """An address whose driver is there; whether the database answers is another matter."""
        try:
            url = make_url(value)
            url.get_dialect().import_dbapi()
        except ImportError as error:
            raise ValueError(f"the database's driver is not installed ({error})") from error
        except ArgumentError as error:  # an address that can't be read, or a dialect nobody knows
            raise ValueError(f"{error}; {DATABASE}") from error
        if url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:"):
            raise ValueError(f"the processes of the service share a file; {DATABASE}")
        return value

    @field_validator("broker")
    @classmethod
    def _usable_broker(cls, value: str) -> str:
        """Redis, over TCP, TLS or a socket; several addresses, of which one answers, stand between semicolons."""
        if not all(map(_names_redis, value.split(";"))):
            raise ValueError(BROKER)
        return value

    @property
    def secrets(self) -> tuple[bytes, ...]:
        """The webhook secrets valid now: one, or two while one replaces the other."""
        return tuple(secret.get_secret_value().encode() for secret in self.webhook_secrets)

    def serves(self, repository: str) -> bool:
        """Whether the operator allows this repository; none are allowed by default."""
        return repository.lower() in self.repositories


def _names_redis(address: str) -> bool:
    try:
        parts = urlsplit(address)
        port = parts.port  # raises where it is no port
    except ValueError:
        return False
    if parts.scheme == "redis+socket":
        return not parts.hostname and port is None and len(parts.path) > 1
    return parts.scheme in ("redis", "rediss") and re.fullmatch(r"/?\d*", parts.path) is not None


def is_safe_address(value: str) -> bool:
    """Whether credentials may be sent there: over https, or over http that never leaves this machine."""
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    host = parts.hostname or ""
    return bool(host) if parts.scheme == "https" else parts.scheme == "http" and is_loopback(host)


def is_loopback(host: str) -> bool:
    """Whether a host name or address never leaves this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
