"""`kernelgate serve`: the web process under gunicorn and the control loop, each started again when it dies."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

import click

from bot.cli.service import read_settings, ready_store
from bot.settings import Settings
from runners.parent import ends_with_me

PATIENCE = 15.0
LONGEST_PAUSE = 30.0
STEADY = 60.0


@dataclass
class Child:
    """A process to be kept alive; it pauses longer after each early death."""

    name: str
    argv: list[str]
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    start_at: float = 0.0
    pause: float = field(default=0.5)

    def tend(self, now: float) -> None:
        """Start the process if it is not there and its pause is over."""
        if self.process is not None and self.process.poll() is not None:
            self.pause = 0.5 if now - self.started > STEADY else min(LONGEST_PAUSE, self.pause * 2)
            click.echo(f"{self.name} ended with {self.process.returncode}; again in {self.pause:.1f} s", err=True)
            self.process, self.start_at = None, now + self.pause
        if self.process is None and now >= self.start_at:
            self.process, self.started = subprocess.Popen(self.argv, preexec_fn=ends_with_me()), now

    def stop(self) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def children(settings: Settings) -> list[Child]:
    """The processes of the service."""
    web = ["-m", "gunicorn", "--worker-class", "gthread", "--workers", str(settings.web_workers), "--threads", str(settings.web_threads)]
    web += ["--bind", settings.bind, "--log-level", "warning", "--timeout", "30", "--graceful-timeout", "10", "bot.web:create_app()"]
    return [Child("web", [sys.executable, *web]), Child("control loop", [sys.executable, "-m", "bot.tasks"])]


@click.command()
def serve() -> None:
    """Serve webhooks, nodes and pages, and run the control loop, until SIGTERM or Ctrl-C.

    Settings come from KERNELGATE_… variables; `kernelgate doctor` shows them and says what is missing.
    """
    settings = read_settings()
    if not settings.repositories:
        click.echo("KERNELGATE_REPOSITORIES is empty: every webhook will be passed over", err=True)
    if not settings.secrets:
        click.echo("KERNELGATE_WEBHOOK_SECRETS is empty: no webhook can be verified, so none is taken", err=True)
    ready_store(settings)  # once, before two processes want to bring the tables up to date
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    family = children(settings)
    while not stopping.is_set():
        for child in family:
            child.tend(time.monotonic())
        stopping.wait(0.25)
    for child in family:
        child.stop()
