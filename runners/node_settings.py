"""A node's settings: environment variables `KERNELGATE_…`; the key may lie in the file that `KERNELGATE_NODE_KEY_FILE` names."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict


class NodeSettings(BaseSettings):
    """Where the server and the broker are, and the key. What is not set is found: the pool by the key, the devices by looking."""

    model_config = SettingsConfigDict(env_prefix="KERNELGATE_", extra="ignore", hide_input_in_errors=True)

    url: str = "http://127.0.0.1:8000"
    broker: str = "redis://127.0.0.1:6379/0"
    node_key: SecretStr | None = None
    node_key_file: Path | None = None
    node_name: str = ""
    pool: str = Field(default="", pattern=r"^[A-Za-z0-9._+-]{0,64}$")
    device: str = Field(default="", pattern=r"^(|(host|(cuda|hip):\d+)(,(host|(cuda|hip):\d+))*)$")
    state: Path = Path("kernelgate-node")
    poll_seconds: float = 15.0
    node_repositories: Annotated[frozenset[str], NoDecode] = frozenset()

    @field_validator("node_repositories", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return frozenset(part.strip().lower() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    def key(self) -> str:
        """The node's key; ValueError where none is set."""
        if self.node_key_file is not None:
            return self.node_key_file.read_text(encoding="ascii").strip()
        if self.node_key is None:
            raise ValueError("KERNELGATE_NODE_KEY or KERNELGATE_NODE_KEY_FILE must hold the key that `kernelgate node add` printed")
        return self.node_key.get_secret_value()
