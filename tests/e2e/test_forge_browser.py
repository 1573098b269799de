"""A pull's page in a real browser: the forge as its own process, read through headless Chromium."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from bot.forge import sample_repository

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
QUIET += ["--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"]
TAKEN = "document.title='taken by a script'"
EVIL = f'<img src=x onerror="{TAKEN}"><script>{TAKEN}</script>\n\n@everyone [x](javascript:alert(1))'
TABLE = "| Model | Verdict |\n| --- | --- |\n| llama-1b | faster |\n\n<details><summary>1 more</summary>\n\n`same`\n\n</details>"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[str]:
    """Address of a forge process with the six sample pulls; its record of violations is empty at the end."""
    pulls = [{**vars(pull), "repository": "kernelgate/sample"} for pull in sample_repository.PULLS]
    world = {"users": {"mira": "token-mira"}, "repositories": sample_repository.build(tmp_path / "git"), "pulls": pulls}
    file = tmp_path / "world.json"
    file.write_text(json.dumps(world))
    process = subprocess.Popen([sys.executable, "-m", "bot.forge", "--world", str(file)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    yield url
    try:
        assert requests.get(f"{url}/_forge/violations", timeout=20).json() == []
    finally:
        process.terminate()
        process.wait(20)


def comment(forge: str, body: str) -> None:
    headers = {"Authorization": "Bearer token-mira"}
    path = f"{forge}/api/v3/repos/kernelgate/sample/issues/1/comments"
    requests.post(path, json={"body": body}, headers=headers, timeout=20).raise_for_status()


def browse(profile: Path, *what: str) -> str:
    done = subprocess.run(
        [str(CHROMIUM), *QUIET, f"--user-data-dir={profile}", *what], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout


def test_comments_as_a_browser_shows_them(forge: str, tmp_path: Path) -> None:
    comment(forge, TABLE)
    comment(forge, EVIL)
    dom = browse(tmp_path / "profile", "--dump-dom", f"{forge}/kernelgate/sample/pull/1")
    assert "<td>llama-1b</td>" in dom and "<summary>1 more</summary>" in dom
    assert "<title>gemm: 2D tiling" in dom and "taken by a script" not in dom and 'href="javascript' not in dom
    assert '<option value="mira">mira (admin)</option>' in dom


def test_a_picture_of_the_page(forge: str, tmp_path: Path) -> None:
    comment(forge, TABLE)
    picture = tmp_path / "pull.png"
    browse(tmp_path / "profile", "--window-size=1000,800", f"--screenshot={picture}", f"{forge}/kernelgate/sample/pull/1")
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 10_000
