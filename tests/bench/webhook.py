"""A hundred signed deliveries a second at the real hook: acknowledged when, lost, doubled; and from a comment to its reaction meanwhile.

    kernelgate bench webhook [--seconds 60] [--rate 100]

Web process and control loop as `kernelgate serve` starts them, forge, Valkey and load, on two cores together. A bare Flask
echo takes the same load first, under the same settings of gunicorn.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import lzma
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from urllib.parse import urlsplit

import click
import psutil
import requests
from flask import Flask, request
from sqlalchemy import select
from tabulate import tabulate

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from bot.adapters.store import Store, open_store
from bot.adapters.store.tables import AskRow, DeliveryRow
from bot.cli.demo import stack
from bot.cli.demo.processes import Processes, free_port
from bot.cli.demo.visitor import Visitor
from bot.cli.serve import children
from bot.settings import Settings

EXAMPLES = Path(__file__).resolve().parents[1] / "data" / "webhooks" / "payloads.json.xz"
CORES = 2
SENDERS = 64  # threads of the load; more than are ever under way at once, unless the hook stalls
TWICE = 20  # each delivery of this many is sent a second time
LATE = 30.0
ASKED_EVERY = 5.0  # seconds between two comments: an answer and a reaction each, a second apart as GitHub wants its writes


@dataclass(frozen=True)
class Sent:
    """A delivery and its answer: status 0 if none came, seconds from the moment it was due."""

    guid: str
    status: int
    seconds: float


@dataclass(frozen=True)
class Tally:
    """What the database says of the deliveries sent."""

    lost: int
    doubled: int


@dataclass
class Town:
    place: stack.Stack
    processes: Processes
    store: Store
    visitor: Visitor


def bodies() -> list[tuple[str, bytes]]:
    """GitHub's example payloads of the events we take; comments are on our repository, so each of them is read for commands."""
    known = json.loads(lzma.decompress(EXAMPLES.read_bytes()))["payloads"]
    for one in known:
        if one["event"] == "issue_comment":
            one["payload"]["repository"]["full_name"] = stack.REPOSITORY
    return [(one["event"], json.dumps(one["payload"]).encode()) for one in known if one["event"] != "ping"]


def guids(count: int) -> list[str]:
    """One id for each delivery; every twentieth comes a second time, as a hook set up twice sends it."""
    return [f"load-{number - (number % TWICE == TWICE - 1)}" for number in range(count)]


def tally(sent: Sequence[str], kept: Sequence[str]) -> Tally:
    """Ids that are not in the database, and rows beyond the first of each id."""
    rows = Counter(kept)
    return Tally(lost=len(set(sent) - rows.keys()), doubled=sum(rows[guid] - 1 for guid in set(sent) & rows.keys()))


def percentiles(seconds: Sequence[float]) -> tuple[float, float, float]:
    """p50, p99 and the longest, in ms."""
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    return tuple(round(1000 * value, 1) for value in (cuts[49], cuts[98], max(seconds)))  # type: ignore[return-value]


def echo() -> Flask:
    """What gunicorn and Flask cost when nothing is checked and nothing kept."""
    app = Flask(__name__, static_folder=None)
    app.add_url_rule("/webhook", "echo", lambda: request.get_data(), methods=["POST"])
    app.add_url_rule("/ready", "ready", lambda: "ready")
    return app


def load(url: str, secret: str, rate: float, count: int) -> list[Sent]:
    """Send `count` deliveries, each at its own moment whether or not those before it are answered."""
    ready = [_signed(event, body, secret) for event, body in bodies()]
    work = list(zip(guids(count), islice(cycle(ready), count), strict=True))
    start = time.monotonic() + 0.5

    def send(number: int) -> Sent:
        guid, (headers, body) = work[number]
        due = start + number / rate
        time.sleep(max(0.0, due - time.monotonic()))
        status = _post(url, {**headers, "X-GitHub-Delivery": guid}, body)
        return Sent(guid, status, time.monotonic() - due)

    with ThreadPoolExecutor(SENDERS) as pool:
        return list(pool.map(send, range(count)))


def _signed(event: str, body: bytes, secret: str) -> tuple[dict[str, str], bytes]:
    signature = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {"X-Hub-Signature-256": signature, "X-GitHub-Event": event, "Content-Type": "application/json"}, body


def _post(url: str, headers: dict[str, str], body: bytes) -> int:
    """The status of one delivery over a connection of its own; 0 where there is no answer within GitHub's 10 s."""
    line = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)
    try:
        line.request("POST", "/webhook", body, headers)
        answer = line.getresponse()
        answer.read()
        return answer.status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        line.close()


@contextmanager
def town(folder: Path) -> Iterator[Town]:
    """The service with GitHub's own pause between writes, over a forge with one pull request."""
    from test_control_processes import small_sample

    from bot.forge import sample_repository as sample

    sample.build = small_sample  # type: ignore[assignment]
    sample.PULLS = (sample.SamplePull(1, "one", "", "noor", "one"),)  # type: ignore[arg-type]
    place = stack.plan(folder, 0)
    with Processes(folder) as processes:
        stack.start_broker(place, processes)
        stack.start_forge(place, processes)
        settings = {**stack.control_environment(place), "KERNELGATE_GITHUB_WRITE_SPACING": "1"}
        processes.start("serve", [*stack.kernelgate(), "serve"], settings)
        processes.wait_for("serve", lambda: stack.answers(f"{place.web}/ready"))
        yield Town(place, processes, open_store(place.database), Visitor(place, "mira"))


def start_load(url: str, secret: str, rate: float, count: int) -> subprocess.Popen[str]:
    argv = [sys.executable, __file__, "--as-load", url, "--rate", str(rate), "--count", str(count)]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    process.stdin.write(secret)
    process.stdin.close()
    process.stdin = None
    return process


def sent_by(process: subprocess.Popen[str]) -> list[Sent]:
    return [Sent(*one) for one in json.loads(process.communicate()[0])]


def through_echo(folder: Path, rate: float, count: int) -> list[Sent]:
    """The load at the bare echo, gunicorn started by the same words as for the service."""
    port = free_port()
    web = children(Settings(bind=f"127.0.0.1:{port}"))[0].argv
    argv = [*web[:-1], "--pythonpath", str(Path(__file__).parent), "webhook:echo()"]
    with Processes(folder) as processes:
        processes.start("echo", argv, stack.environment())
        url = f"http://127.0.0.1:{port}"
        processes.wait_for("echo", lambda: stack.answers(f"{url}/ready"))
        return sent_by(start_load(url, "none", rate, count))


def through_the_gate(town: Town, rate: float, count: int) -> tuple[list[Sent], list[float]]:
    """The load at the real hook, and seconds from comment to reaction for the comments given meanwhile."""
    to_reaction(town)  # the first command waits for tokens and connections, which the others find there
    _settled(town.store)
    process, reacted = start_load(town.place.web, town.place.secrets.webhook, rate, count), []
    end = time.monotonic() + count / rate - 1
    while not reacted or time.monotonic() < end:
        began = time.monotonic()
        reacted.append(to_reaction(town))
        time.sleep(max(0.0, min(began + ASKED_EVERY, end) - time.monotonic()))
    sent = sent_by(process)
    _settled(town.store)
    return sent, reacted


def to_reaction(town: Town) -> float:
    """Seconds from a command's comment to the bot's reaction on it, both at the forge."""
    began = time.monotonic()
    comment = town.visitor.repository.get_pull(1).create_issue_comment("/status")
    look = f"{town.place.forge}/api/v3/repos/{stack.REPOSITORY}/issues/comments/{comment.id}/reactions"
    headers = {"Authorization": f"Bearer {town.place.secrets.tokens['mira']}"}
    while not requests.get(look, headers=headers, timeout=20).json():
        if time.monotonic() > began + LATE:
            return LATE
        time.sleep(0.05)
    return time.monotonic() - began


def _settled(store: Store) -> None:
    """Until the loop has nothing left to take or to post."""
    end = time.monotonic() + 2 * LATE
    while store.deliveries.due() or store.outbox.due(0.0):
        if time.monotonic() > end:
            sys.exit("the control loop does not catch up")
        time.sleep(0.2)


def kept(store: Store) -> tuple[list[str], int]:
    """The ids of all deliveries kept, and how many commands were opened more than once."""
    with store.db.read() as session:
        rows = list(session.scalars(select(DeliveryRow.guid).where(DeliveryRow.processed.is_not(None))))
        asks = session.execute(select(AskRow.repository, AskRow.comment_id, AskRow.ordinal).where(AskRow.comment_id.is_not(None)))
        return rows, sum(count - 1 for count in Counter(asks.all()).values())


def report(bare: Sequence[Sent], gate: Sequence[Sent], reacted: Sequence[float], found: Tally) -> str:
    rows = [
        (name, len(sent), sum(one.status not in (200, 202) for one in sent), *percentiles([one.seconds for one in sent]))
        for name, sent in (("bare Flask echo", bare), ("kernelgate", gate))
    ]
    table = tabulate(rows, ["POST to answer", "n", "refused", "p50 ms", "p99 ms", "max ms"])
    times = f"median {statistics.median(reacted):.2f} s, longest {max(reacted):.2f} s of {len(reacted)}"
    return f"{table}\n\nin the database: {found.lost} lost, {found.doubled} doubled\ncomment to reaction meanwhile: {times}"


@click.command()
@click.option("--seconds", default=60.0, show_default=True)
@click.option("--rate", default=100.0, show_default=True, help="deliveries a second")
@click.option("--as-load", hidden=True)
@click.option("--count", default=0, hidden=True)
def main(seconds: float, rate: float, as_load: str | None, count: int) -> None:
    """See the head of this file."""
    if as_load:
        sent = load(as_load, sys.stdin.read(), rate, count)
        return click.echo(json.dumps([(one.guid, one.status, one.seconds) for one in sent]))
    psutil.Process().cpu_affinity(sorted(os.sched_getaffinity(0))[:CORES])
    with tempfile.TemporaryDirectory(prefix="kernelgate-bench-") as made:
        bare = through_echo(Path(made), rate, round(seconds * rate))
        with town(Path(made)) as here:
            gate, reacted = through_the_gate(here, rate, round(seconds * rate))
            rows, commands = kept(here.store)
    found = tally([one.guid for one in gate], rows)
    click.echo(report(bare, gate, reacted, found))
    if commands:
        click.echo(f"{commands} commands were taken twice")
    sys.exit(1 if found.lost or found.doubled or commands else 0)


if __name__ == "__main__":
    main()
