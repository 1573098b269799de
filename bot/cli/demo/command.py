"""The command: start everything, tell the story, print the answers, end everything."""

from __future__ import annotations

import json
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import click
from rich.console import Console

from bot.adapters.store import open_store
from bot.cli.demo import show, stack
from bot.cli.demo.processes import DemoError, Processes
from bot.cli.demo.story import Story, Visit
from bot.cli.demo.visitor import Visitor
from bot.cli.out_file import OutFile, deliver
from bot.core import report
from bot.forge.sample_repository import PULLS

LONGEST = 900.0
GLANCE = 0.5
MAINTAINER = "mira"
PIPE_WIDTH = 140


@click.command()
@click.option("--once", is_flag=True, help="end after the answers instead of staying up until Ctrl-C")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="port of the pull request pages; 0 takes a free one")
@click.option("--json", "file", type=OutFile(), help="write verdicts, comments and runs here")
def demo(once: bool, port: int, file: Path | None) -> None:
    """The whole system on one machine, on six sample pull requests. Exit: 0 all as expected, 1 not, 2 cannot run."""
    console = terminal()
    signal.signal(signal.SIGTERM, _leave)
    state = Path(tempfile.mkdtemp(prefix="kernelgate-demo-"))
    try:
        good = _play(console, state, once, port, file)
    except DemoError as error:
        console.print(f"[red]The demo cannot go on.[/red] {error}", highlight=False, markup=True)
        sys.exit(2)
    finally:
        shutil.rmtree(state, ignore_errors=True)
    sys.exit(0 if good else 1)


def terminal() -> Console:
    """The terminal as it is; a file or pipe is written wide enough for the tables."""
    console = Console()
    return console if console.is_terminal else Console(width=PIPE_WIDTH)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


def _play(console: Console, state: Path, once: bool, port: int, file: Path | None) -> bool:
    began = time.monotonic()
    stack.check_machine()
    place = stack.plan(state, port)
    with Processes(state) as processes:
        with console.status("starting Valkey, forge, web process, control loop and node"):
            _start(place, processes)
        console.print(f"The pull requests: {place.forge}", highlight=False)
        story = Story(Visitor(place, MAINTAINER), open_store(place.database), PULLS)
        _tell(console, story, processes, place.forge)
        seconds = time.monotonic() - began
        console.print(show.summary(story.visits))
        console.print(f"{seconds:.0f} s." + ("" if once else f" The pull requests can be read at {place.forge}"), highlight=False)
        if file:
            deliver(file, (json.dumps(_result(story.visits, seconds), indent=1) + "\n").encode())
        if not once:
            _stay(console, processes)
    return all(visit.good for visit in story.visits)


def _start(place: stack.Stack, processes: Processes) -> None:
    stack.start_broker(place, processes)
    stack.start_forge(place, processes)
    stack.start_service(place, processes)
    stack.start_node(place, processes)


def _tell(console: Console, story: Story, processes: Processes, forge: str) -> None:
    """Ask on every pull, then print each answer as it comes."""
    end = time.monotonic() + LONGEST
    story.begin()
    with console.status(story.progress()) as line:
        while any(visit.answer is None for visit in story.visits):
            processes.check()
            for visit in story.step():
                show.show(console, visit, forge)
            line.update(story.progress())
            if time.monotonic() > end:
                raise DemoError(f"no answer within {LONGEST:.0f} s: {story.progress()}\n{processes.tail('node')}")
            time.sleep(GLANCE)


def _result(visits: list[Visit], seconds: float) -> dict[str, Any]:
    """The demo's JSON of the contracts."""
    return {"seconds": round(seconds, 1), "prs": [_entry(visit) for visit in visits]}


def _entry(visit: Visit) -> dict[str, Any]:
    return {
        "number": visit.pull.number,
        "title": visit.pull.title,
        "expected": visit.expected.verdict,
        "verdict": visit.verdict,
        "comment": visit.answer.body if visit.answer else "",
        "comment_url": visit.answer.url if visit.answer else "",
        "run": json.loads(report.dump(visit.run)) if visit.run else None,
    }


def _stay(console: Console, processes: Processes) -> None:
    """Up until Ctrl-C, so that the pages can be read and commented on."""
    console.print("Comment on a pull request there, or press Ctrl-C to end.")
    try:
        while True:
            processes.check()
            time.sleep(GLANCE)
    except KeyboardInterrupt:
        console.print("Ending.")
