"""A broker behind TLS is spoken to only where its certificate is of a known authority and names it."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from redis.exceptions import RedisError

from bot.adapters.queue import Alarm, NodeBell, ping
from bot.cli.demo import stack
from bot.cli.demo.processes import Processes
from bot.core.records import Hint
from bot.flow.ports import BrokerDown
from runners.node_process import make_app
from runners.node_settings import NodeSettings


def certificate(folder: Path, address: str) -> tuple[Path, Path]:
    """One that signs itself, and its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name, day = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "broker")]), datetime.timedelta(days=1)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
    made = made.not_valid_before(now - day).not_valid_after(now + day)
    made = made.add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), critical=False)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    shown, kept = folder / f"{address}.crt", folder / f"{address}.key"
    shown.write_bytes(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    kept.write_bytes(key.private_bytes(*form))
    return shown, kept


def pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError), source, sink:
        while data := source.recv(65536):
            sink.sendall(data)


def serve(door: socket.socket, files: tuple[Path, Path], behind: tuple[str, int]) -> None:
    """TLS in front of a broker, until the door is closed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    with contextlib.suppress(OSError):
        while True:
            caller, _ = door.accept()
            with contextlib.suppress(ssl.SSLError, ConnectionError):
                inside, broker = context.wrap_socket(caller, server_side=True), socket.create_connection(behind)
                for ends in ((inside, broker), (broker, inside)):
                    threading.Thread(target=pump, args=ends, daemon=True).start()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("broker")
    place = stack.plan(folder, 0)
    with Processes(folder) as processes:
        stack.start_broker(place, processes)
        yield place.broker


def reached(broker: str) -> list[bool]:
    """Whether the control side, its bell for nodes, and a node get through."""
    node = make_app(NodeSettings(url="http://127.0.0.1:9", broker=broker, node_key="k", pool="host", node_name="n", device="host"))
    found = []
    for call in (lambda: ping(broker), lambda: NodeBell(broker).ring(Hint("j", "host")), node.connection_for_read().connect):
        with contextlib.suppress(BrokerDown, RedisError):
            call()
            found.append(True)
            continue
        found.append(False)
    return [Alarm(broker).wake(), *found]


@pytest.mark.parametrize(
    ("named", "known", "through"), [("127.0.0.1", True, True), ("127.0.0.1", False, False), ("127.0.0.2", True, False)]
)
def test_only_a_certificate_of_a_known_authority_that_names_the_broker(
    plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, known: bool, through: bool
) -> None:
    files, parts = certificate(tmp_path, named), urlsplit(plain)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    if known:
        monkeypatch.setenv("SSL_CERT_FILE", str(files[0]))
    with socket.create_server(("127.0.0.1", 0)) as door:
        behind = (parts.hostname or "", parts.port or 0)
        threading.Thread(target=serve, args=(door, files, behind), daemon=True).start()
        broker = f"rediss://:{parts.password}@127.0.0.1:{door.getsockname()[1]}/0"
        assert reached(broker) == [through] * 4
