"""A process killed between any two steps loses nothing and doubles nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from paper_github import PaperGitHub
from paper_scene import Scene

from bot.adapters.store import open_store
from bot.flow.loop import tick
from bot.flow.ports import World


def at_step(number: int) -> Callable[[], bool]:
    """Dies once, before the write of this number."""
    left = iter(range(number))
    state = {"dead": False}

    def dies() -> bool:
        if state["dead"] or next(left, None) is not None:
            return False
        state["dead"] = True
        return True

    return dies


def test_undisturbed(tmp_path: Path) -> None:
    scene = Scene(tmp_path, PaperGitHub())
    scene.comment("/run-test models=all")
    assert scene.play() == 0
    scene.is_whole()


@pytest.mark.parametrize("part", range(4))
def test_killed_before_each_write(tmp_path: Path, part: int) -> None:
    """Every fourth step is tried here, so that the four parts can run side by side."""
    step, killed = part, 1
    while killed:
        folder = tmp_path / str(step)
        folder.mkdir()
        scene = Scene(folder, PaperGitHub(), at_step(step))
        scene.comment("/run-test models=all")
        killed = scene.play()
        scene.is_whole()
        step += 4
    assert step > 20


def test_every_write_is_done_and_then_answered_with_a_502(tmp_path: Path) -> None:
    scene = Scene(tmp_path, PaperGitHub(lossy=True))
    scene.comment("/run-test models=all")
    for _ in range(3):
        scene.play()
    scene.is_whole()


def test_a_broker_that_is_down_delays_and_loses_nothing(tmp_path: Path) -> None:
    scene = Scene(tmp_path, PaperGitHub())
    scene.bell.down = True
    scene.comment("/run-test models=all")
    assert tick(scene.world) == 0 and scene.store.jobs.unheard() != []
    scene.bell.down = False
    assert tick(scene.world) == 0
    assert len(scene.bell.rung) == 1 and scene.store.jobs.unheard() == []
    scene.play()
    scene.is_whole()


def test_two_loops_by_mistake_double_nothing(tmp_path: Path) -> None:
    scene = Scene(tmp_path, PaperGitHub())
    other = World(**{**scene.world.__dict__, "store": open_store(f"sqlite:///{tmp_path}/gate.db", scene.clock)})
    scene.comment("/run-test models=all")
    for _ in range(4):
        assert tick(other) == 0
        scene.play()
    scene.is_whole()
