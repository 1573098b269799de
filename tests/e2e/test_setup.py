"""`kernelgate setup` as a process against the forge as a process; a browser's requests, and the service with what they left."""

from __future__ import annotations

import json
import os
import queue
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
import requests

from bot.adapters.github import GitHubApi
from bot.cli.demo.processes import free_port
from bot.core.events import EventKind, read_event
from bot.flow.ports import Shut
from bot.forge import sample_repository
from bot.settings import PREFIX, Settings

SAMPLE = f"{sample_repository.OWNER}/{sample_repository.NAME}"
KERNELGATE = Path(sys.executable).with_name("kernelgate")
WAIT = 60.0


class Form(HTMLParser):
    """The one form of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.action, self.fields, self.buttons = "", {}, 0  # type: str, dict[str, str], int
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.action = told.get("action", "")
        elif tag == "input":
            self.fields[told["name"]] = told["value"]
        self.buttons += tag == "button"


class Browser:
    """Sends what a browser sends, the page's origin with each form included."""

    def __init__(self) -> None:
        self.shown = requests.Response()

    def open(self, url: str) -> Form:
        self.shown = requests.get(url, timeout=WAIT)
        return Form(self.shown.text)

    def press(self, form: Form, **written: str) -> Form:
        """The form's button; redirects are followed."""
        page = urlsplit(self.shown.url)
        headers = {"Origin": f"{page.scheme}://{page.netloc}"}
        target = urljoin(self.shown.url, form.action)
        self.shown = requests.post(target, data=form.fields | written, headers=headers, timeout=WAIT)
        return Form(self.shown.text)


@dataclass
class Hook:
    """The service's hook, which keeps what it is sent."""

    url: str = ""
    heard: queue.Queue[tuple[dict[str, str], bytes]] = field(default_factory=queue.Queue)


@pytest.fixture
def hook() -> Iterator[Hook]:
    one = Hook()

    class Listener(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            one.heard.put((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(202)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Listener) as server:
        one.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield one
        server.shutdown()


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    return sample_repository.build(tmp_path_factory.mktemp("git"))


@pytest.fixture
def forge(tmp_path: Path, repositories: list[dict[str, object]]) -> Iterator[str]:
    """Address of a forge process that has no App; its record of violations is empty at the end."""
    pulls = [{**vars(sample_repository.PULLS[0]), "repository": SAMPLE}]
    world = {"organizations": [sample_repository.OWNER], "users": {"mira": "token-mira"}, "repositories": repositories, "pulls": pulls}
    (tmp_path / "world.json").write_text(json.dumps(world))
    argv = [sys.executable, "-m", "bot.forge", "--world", str(tmp_path / "world.json")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        try:
            yield url
            assert requests.get(f"{url}/_forge/violations", timeout=20).json() == []
        finally:
            process.terminate()


@dataclass
class Setup:
    """A `kernelgate setup` that waits for its click."""

    process: subprocess.Popen[str]
    address: str

    def end(self) -> tuple[int, str, str]:
        """Exit code, the rest of stdout, stderr."""
        out, err = self.process.communicate(timeout=WAIT)
        return self.process.returncode, out, err


Starting = Callable[..., Setup]


def environment(**settings: str) -> dict[str, str]:
    """The caller's, without settings of a service but these."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    return kept | {f"{PREFIX}{name.upper()}": value for name, value in settings.items()}


@pytest.fixture
def start(tmp_path: Path, forge: str, hook: Hook) -> Iterator[Starting]:
    running: list[subprocess.Popen[str]] = []

    def begin(*args: str, **settings: str) -> Setup:
        env = environment(**({"url": hook.url, "github_api": f"{forge}/api/v3"} | settings))
        before = signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs ignore it, and so would what they start
        process = subprocess.Popen(
            [KERNELGATE, "setup", *args], cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        signal.signal(signal.SIGINT, before)
        running.append(process)
        assert process.stdout is not None
        address = process.stdout.readline().split()[1]
        return Setup(process, address)

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def refused(tmp_path: Path, *args: str, **settings: str) -> str:
    """What a setup says that ends before it has shown a page."""
    env = environment(**settings)
    done = subprocess.run([KERNELGATE, "setup", *args], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=WAIT)
    assert (done.returncode, done.stdout) == (2, "") and "Traceback" not in done.stderr
    return done.stderr


def settings_in(text: str) -> dict[str, str]:
    """The settings that setup prints."""
    return dict(line.split("=", 1) for line in text.splitlines() if line.startswith(PREFIX))


def made(browser: Browser, setup: Setup) -> tuple[int, str, str]:
    """One click on setup's page and one on GitHub's."""
    offered = browser.open(setup.address)
    assert (list(offered.fields), offered.buttons) == (["manifest"], 1)
    browser.press(browser.press(offered), login="mira")
    return setup.end()


@pytest.mark.parametrize("organization", [True, False])
def test_an_app_is_made_and_the_service_works_with_it(
    start: Starting, forge: str, hook: Hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, organization: bool
) -> None:
    browser = Browser()
    code, out, err = made(browser, start("--organization", sample_repository.OWNER) if organization else start())
    assert (code, err) == (0, "") and browser.shown.status_code == 200
    files = [tmp_path / "secrets" / name for name in ("app.pem", "webhook")]
    assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [0o600, 0o600]
    assert stat.S_IMODE(files[0].parent.stat().st_mode) == 0o700
    words = [word for file in files for word in file.read_text().split() if len(word) > 20]
    assert words and not any(word in out or word in browser.shown.text for word in words)

    settings = service(monkeypatch, out)
    install = out.splitlines()[-1]
    assert (settings.url, settings.github_api) == (hook.url, f"{forge}/api/v3") and install in browser.shown.text
    if organization:  # whose repository it is
        with pytest.raises(Shut, match="not installed"):
            GitHubApi(settings).file(SAMPLE, "README.md", "main")
        browser.press(browser.open(install))
        text = GitHubApi(settings).file(SAMPLE, "README.md", "main")
        assert text and text.startswith("#")
        assert hears(forge, hook, settings) == [EventKind.INSTALLATION, EventKind.COMMENT]


def service(monkeypatch: pytest.MonkeyPatch, printed: str) -> Settings:
    """The service's settings, from nothing but what setup printed."""
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        monkeypatch.delenv(name)
    for name, value in settings_in(printed).items():
        monkeypatch.setenv(name, value)
    return Settings()


def hears(forge: str, hook: Hook, settings: Settings) -> list[EventKind]:
    """What the hook makes of the installation's delivery and a comment's, by the secret that was stored."""
    headers = {"Authorization": "Bearer token-mira"}
    path = f"{forge}/api/v3/repos/{SAMPLE}/issues/1/comments"
    requests.post(path, json={"body": "/status"}, headers=headers, timeout=20).raise_for_status()
    return [read_event(*hook.heard.get(timeout=WAIT), settings.secrets).kind for _ in range(2)]


@pytest.mark.parametrize("name", ["app.pem", "webhook"])
def test_keys_that_are_there_are_kept(tmp_path: Path, name: str) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / name).symlink_to("nowhere")
    assert f"there is an App already: {tmp_path}/secrets/{name}" in refused(tmp_path, url="https://gate.example")


def test_keys_that_came_meanwhile_are_kept(start: Starting, tmp_path: Path) -> None:
    setup = start("--folder", "elsewhere/keys")
    (tmp_path / "elsewhere" / "keys" / "app.pem").write_text("another's")
    browser = Browser()
    code, out, err = made(browser, setup)
    assert code == 2 and "elsewhere/keys/app.pem can't be written: File exists" in err and "/settings/apps" in err
    assert browser.shown.status_code == 502 and "File exists" in browser.shown.text and "Traceback" not in err
    assert (tmp_path / "elsewhere" / "keys" / "app.pem").read_text() == "another's" and "GITHUB_APP_ID" not in out


def test_who_comes_without_the_state_changes_nothing(start: Starting, tmp_path: Path) -> None:
    setup, browser = start(), Browser()
    state = parse_qs(urlsplit(browser.open(setup.address).action).query)["state"][0]
    for query in ("", "?code=abc", "?code=abc&state=", "?code=abc&state=%C3%A9", f"?state={state}", f"?code=../../user&state={state}"):
        browser.open(f"{setup.address}/made{query}")
        assert browser.shown.status_code == 400 and setup.address in browser.shown.text
    assert setup.process.poll() is None
    assert made(browser, setup)[0] == 0 and (tmp_path / "secrets" / "app.pem").exists()


def test_another_name_for_this_machine_reads_nothing(start: Starting) -> None:
    setup = start()
    stranger = requests.get(setup.address, headers={"Host": f"evil.example:{urlsplit(setup.address).port}"}, timeout=20)
    assert stranger.status_code == 403 and "manifest" not in stranger.text


def test_a_code_that_github_does_not_know(start: Starting, forge: str, tmp_path: Path) -> None:
    setup, browser = start(), Browser()
    state = parse_qs(urlsplit(browser.open(setup.address).action).query)["state"][0]
    browser.open(f"{setup.address}/made?code=abc&state={state}")
    code, _, err = setup.end()
    assert code == 2 and "404, its code was used before" in err and f"delete it at {forge}/settings/apps" in err and "Traceback" not in err
    assert browser.shown.status_code == 502 and "404, its code" in browser.shown.text
    assert list((tmp_path / "secrets").iterdir()) == []


def test_a_github_that_is_not_there(start: Starting) -> None:
    setup, browser = start(github_api=f"http://127.0.0.1:{free_port()}/api/v3"), Browser()
    state = parse_qs(urlsplit(browser.open(setup.address).action).query)["state"][0]
    browser.open(f"{setup.address}/made?code=abc&state={state}")
    code, _, err = setup.end()
    assert code == 2 and "GitHub did not give the App's key: ConnectionError" in err and browser.shown.status_code == 502


def test_ctrl_c_leaves_no_app(start: Starting) -> None:
    setup = start()
    setup.process.send_signal(signal.SIGINT)
    assert setup.end()[0] == 2


def test_a_port_that_is_taken(hook: Hook, tmp_path: Path) -> None:
    said = refused(tmp_path, "--port", str(urlsplit(hook.url).port), url="https://gate.example")
    assert "choose another with --port" in said
