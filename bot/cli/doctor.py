"""`kernelgate doctor`: each piece the service or a node needs, whether it is there, and the remedy if it is not."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click
from pydantic import ValidationError
from sqlalchemy import Engine

from bot.adapters.github import GitHubApi
from bot.adapters.queue import ping
from bot.adapters.store import is_current, open_store
from bot.cli.cards import EXTRA, SOURCE, CardFacts, Finding, NodeFacts, findings
from bot.cli.service import NO_DATABASE, database_fault, faults
from bot.flow.planning import CONFIG_FILE
from bot.flow.ports import BrokerDown, GitHubError
from bot.settings import PREFIX, Settings
from runners import cgroup, git, identity, sandbox, seccomp, static_gate, vitals
from runners.git import CheckoutError
from runners.machine import cards as machine_cards
from runners.probing import Prober
from runners.room import room_for
from runners.scratch import readable
from runners.toolchains import ToolchainMissing
from runners.toolchains.host_compiler import HostCompiler, find
from runners.vitals import Unfit

NVIDIA_DRIVER = Path("/proc/driver/nvidia/version")
ROCM = Path("/opt/rocm/.info/version")
NO_APP = "`kernelgate setup` makes the App and prints this"
LINE = b'extern "C" int kg_doctor() { return 1; }\n'


@click.command()
@click.option("--repo", metavar="OWNER/NAME", help="also: what GitHub lets the service see of this repository")
@click.option("--warm", is_flag=True, help="for set-up: look at this machine only, compile once, and never fail")
def doctor(repo: str | None, warm: bool) -> None:
    """Look at what this machine needs, and the service where its settings are here: each missing piece with its remedy.

    Exit: 0 all is there, 2 something is missing.
    """
    missing = 0
    for finding in machine() if warm else [*machine(), *service(repo)]:
        missing += bool(finding.remedy)
        click.echo(f"{'missing' if finding.remedy else 'ok':8}{finding.piece}: {finding.state}", err=warm and bool(finding.remedy))
        if finding.remedy:
            click.echo(f"        remedy: {finding.remedy}", err=warm)
    sys.exit(2 if missing and not warm else 0)


def machine() -> Iterator[Finding]:
    """What any machine needs: git, a sandbox, a compiler that works inside it, compilers for cards, and what its own cards need."""
    yield _finding("git", _git, (CheckoutError,))
    yield _finding("sandbox", _sandbox, (sandbox.SandboxError,))
    yield _system_calls()
    yield _finding("C++ compiler", _compiler, (ToolchainMissing, sandbox.SandboxError))
    yield _finding("compilers for cards", _card_compilers, (ToolchainMissing,))
    yield _limits()
    yield from _cards()


def _system_calls() -> Finding:
    """One layer of several: without it the sandbox still holds, so nothing is missing."""
    return Finding("filter of system calls", "libseccomp" if seccomp.program() else f"none, as libseccomp is not here: {seccomp.REMEDY}")


def _limits() -> Finding:
    """Without a control group the limits are rlimits, which hold for each process, and a look twice a second at what all take."""
    kind = cgroup.kind()
    state = (
        f"control groups, {kind}"
        if kind
        else "rlimits and a watch; a unit with Delegate=memory pids, as in docs/nodes.md, has control groups"
    )
    return Finding("limits of memory and processes", state)


def _cards() -> Iterator[Finding]:
    """Each card's driver and CuPy and, where they fit, whether the card is fit for a job."""
    found = list(findings(_facts()))
    yield from found
    for card in machine_cards() if not any(one.remedy for one in found) else ():
        with tempfile.TemporaryDirectory(prefix="kernelgate-doctor-") as state:
            yield _finding(f"{card.device}, a first kernel", lambda card=card, state=state: _first_kernel(card.device, state), (Unfit,))


def _first_kernel(device: str, state: str) -> str:
    with readable():
        info, said = Prober(device, "doctor", Path(state)).check(threading.Event())
    return f"{info.device}, {info.target}, {said.memory_bytes >> 30} GiB, {info.driver}, {info.toolchain}: it answers"


def _facts() -> NodeFacts:
    cards = tuple(CardFacts(card.device, card.kind, card.target or _target(card.device), _closed(card.device)) for card in machine_cards())
    packages = {name: version(name) for name in (*EXTRA.values(), SOURCE) if _is_installed(name)}
    driver = re.search(r"Kernel Module.*?\s(\d+[.\d]+)", _text(NVIDIA_DRIVER))
    return NodeFacts(cards, packages, driver[1] if driver else "", _text(ROCM).strip().partition("-")[0])


def _closed(device: str) -> tuple[str, ...]:
    return tuple(str(path) for path in room_for(device, threading.Event()).devices if not os.access(path, os.R_OK | os.W_OK))


def _target(device: str) -> str:
    try:
        return vitals.look(device).target
    except Unfit:
        return ""


def _is_installed(name: str) -> bool:
    try:
        return bool(version(name))
    except PackageNotFoundError:
        return False


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""


def _finding(piece: str, look: Callable[[], str], troubles: tuple[type[Exception], ...]) -> Finding:
    try:
        return Finding(piece, look())
    except troubles as error:
        return Finding(piece, "not usable", str(error))


def _sandbox() -> str:
    done = sandbox.run(["/usr/bin/true"], limits=sandbox.Limits(seconds=20))
    if not done.ok:
        raise sandbox.SandboxError(f"a first process in it failed: {done.stderr.decode(errors='replace').strip()}")
    if identity.drops() and (closed := identity.closed_to_others(sandbox.python()[1].values())):
        raise sandbox.SandboxError(f"sandboxed processes, which are other users, can't read {closed}: {identity.mend(closed)}")
    user = "as another user each time" if identity.drops() else "as this user, in a user namespace"
    return f"bubblewrap starts processes with their own namespaces, {user}"


def _git() -> str:
    return git.output(None, ["--version"]).decode(errors="replace").strip()


def _card_compilers() -> str:
    """Without them `run` and `static` leave those targets out."""
    if reasons := {reason for target in static_gate.TARGETS if (reason := static_gate.missing(target))}:
        raise ToolchainMissing("; ".join(sorted(reasons)))
    return ", ".join(static_gate.TARGETS)


def _compiler() -> str:
    """Compile a line of C++ as kernels are; with zig this also fills its cache."""
    found: HostCompiler = find()
    argv = [*found.compile, "-x", "c++", "-c", "-", "-o", "/tmp/a.o"]
    done = sandbox.run(argv, read=found.mounts, stdin=LINE, limits=sandbox.Limits(seconds=120, cpu_seconds=120))
    if not done.ok:
        raise ToolchainMissing(f"{found.version} does not compile: {done.stderr.decode(errors='replace')[:300].strip()}")
    return found.version


def service(repo: str | None) -> Iterator[Finding]:
    """What the bot needs besides: settings, database, broker, GitHub."""
    if not any(name.startswith(PREFIX) for name in os.environ):
        state = f"no {PREFIX}… variable is set, so only this machine was looked at"
        yield Finding("service", state, f"set {PREFIX}REPOSITORIES and the App's credentials to look at {repo}" if repo else "")
        return
    try:
        settings = Settings()
    except (ValidationError, OSError) as error:
        yield from (Finding("settings", "not usable", line) for line in faults(error))
        return
    yield _settings(settings)
    yield _finding("database", lambda: _database(settings), (RuntimeError,))
    yield from _pools(settings)
    yield _finding("broker", lambda: _broker(settings), (BrokerDown,))
    yield from (_github(settings, name) for name in ([repo] if repo else sorted(settings.repositories)))


def _settings(settings: Settings) -> Finding:
    shown = {name: _without_secret(value) for name, value in settings.model_dump(mode="json").items() if value not in (None, [], ())}
    remedies = []
    if not settings.repositories:
        remedies.append(f"list the repositories to serve in {PREFIX}REPOSITORIES")
    if not settings.secrets:
        remedies.append(f"name a file with the webhook's secret in {PREFIX}WEBHOOK_SECRETS_FILE ({NO_APP})")
    if settings.github_token is None and (settings.github_app_id is None or settings.github_app_key is None):
        remedies.append(f"set {PREFIX}GITHUB_APP_ID and {PREFIX}GITHUB_APP_KEY_FILE ({NO_APP})")
    return Finding("settings", ", ".join(f"{name}={value}" for name, value in sorted(shown.items())), "; ".join(remedies))


def _without_secret(value: object) -> object:
    """An address without the password in it; secrets proper are masked by their type already."""
    return re.sub(r"(://[^/@:]*):[^@]*@", r"\1:**@", value) if isinstance(value, str) else value


def _database(settings: Settings) -> str:
    try:
        return _tables(open_store(settings.database).db.engine)
    except NO_DATABASE as error:
        raise RuntimeError(database_fault(settings, error)) from error


def _pools(settings: Settings) -> Iterator[Finding]:
    """Each pool that had no good baseline for a day; none where the database itself is what is missing."""
    try:
        store = open_store(settings.database)
        _tables(store.db.engine)
        found = store.baselines.missing()
    except (*NO_DATABASE, RuntimeError):
        return
    for one in found:
        state = f"no good baseline for a day, of {one.jobs} jobs that ended there"
        yield Finding(f"pool {one.pool}", state, f"look at {settings.url}/nodes, and run `kernelgate doctor` on its nodes")


def _tables(engine: Engine) -> str:
    where, file = engine.url.render_as_string(hide_password=True), engine.url.database
    if engine.url.get_backend_name() == "sqlite" and not (file and Path(file).exists()):
        raise RuntimeError(f"{where} is not there yet; kernelgate serve makes it")
    if not is_current(engine):
        raise RuntimeError(f"{where} has not the newest tables; kernelgate serve brings them up to date")
    return f"{where} answers, its tables are the newest"


def _broker(settings: Settings) -> str:
    try:
        ping(settings.broker)
    except BrokerDown as error:
        raise BrokerDown(f"start Redis or Valkey, or mend {PREFIX}BROKER ({error})") from error
    return "answers"


def _github(settings: Settings, repository: str) -> Finding:
    piece = f"GitHub, {repository}"
    try:
        text = GitHubApi(settings).file(repository, CONFIG_FILE, "HEAD")
    except GitHubError as error:
        return Finding(piece, f"not reached: {error}", f"install the App on {repository}, or mend {PREFIX}GITHUB_API and its credentials")
    there = "is there" if text else "is not there: /run-test answers with defaults and sets no check"
    return Finding(piece, f"reached; {CONFIG_FILE} {there}")
