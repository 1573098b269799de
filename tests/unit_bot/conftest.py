"""A forge over HTTP with one small repository, for every test of the control side that talks to GitHub."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from forged_github import TOKENS, Forged, small_repository
from hypothesis import settings

from bot.cli.setup.manifest import EVENTS, PERMISSIONS
from bot.forge.limits import Meter
from bot.forge.serving import Forge
from bot.forge.world import App, Hook, World

settings.register_profile("large", settings.get_profile("ci"), max_examples=100_000)


@pytest.fixture(scope="session")
def app_key() -> tuple[str, str]:
    """Private and public PEM of the App's key."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private.decode(), public.decode()


@pytest.fixture
def forged(tmp_path: Path, app_key: tuple[str, str]) -> Iterator[Forged]:
    """The forge with `kernelgate/sample` (mira admin, noor writes, tess triages), sam's fork, and no pull yet."""
    bare, fork = small_repository(tmp_path / "repositories")
    world = World()
    world.meter = Meter(writes=10_000)  # a test has no minute to wait
    world.account("kernelgate", "Organization")
    world.app = App(7, "kernelgate", "kernelgate", "kernelgate", app_key[1], 11, permissions=PERMISSIONS, events=list(EVENTS))
    world.account(world.bot_login(), "Bot")
    world.tokens = {token: world.account(login).login for login, token in TOKENS.items()}
    roles = {"mira": "admin", "noor": "maintain", "tess": "triage"}
    world.add_repository({"owner": "kernelgate", "name": "sample", "path": str(bare), "roles": roles})
    world.add_repository({"owner": "sam", "name": "sample", "path": str(fork), "roles": {}, "fork_of": "kernelgate/sample"})
    with Forge(world) as forge:
        yield Forged(forge, world, world.url, f"{world.url}/api/v3", app_key[0])


@pytest.fixture
def hooked(forged: Forged) -> Forged:
    """The same forge, its webhooks sent to an address where nobody listens: the log is what a test reads."""
    forged.world.hooks.append(Hook(forged.world.next_id(), "http://127.0.0.1:9/webhook", "s3cret"))
    return forged
