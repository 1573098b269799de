"""Commits come by SHA, as plain files, without running anything of theirs."""

import os
import subprocess
from pathlib import Path

import pytest
from small_suite import job

from runners import checkout
from runners.checkout import Caps, git_directory
from runners.git import CheckoutError
from runners.git_cache import GitCache


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "protocol.file.allow=always"]
    return subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    folder = tmp_path / "origin"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("one\n")
    (folder / "link").symlink_to("/etc/passwd")
    (folder / ".gitattributes").write_text("*.txt filter=evil\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    return folder


def test_a_commit_is_fetched_by_sha_and_a_link_is_a_plain_file(origin: Path, tmp_path: Path) -> None:
    sha = git(origin, "rev-parse", "HEAD")
    checkout.fetch(tmp_path / "cache", f"file://{origin}", [sha])
    checkout.export(tmp_path / "cache", sha, tmp_path / "out")
    assert (tmp_path / "out/a.txt").read_text() == "one\n"
    assert not (tmp_path / "out/link").is_symlink()


@pytest.mark.parametrize("sha", ["HEAD", "abc123", "--upload-pack=x", "g" * 40])
def test_only_full_shas_are_fetched(origin: Path, tmp_path: Path, sha: str) -> None:
    with pytest.raises(CheckoutError):
        checkout.fetch(tmp_path / "cache", f"file://{origin}", [sha])


def test_a_commit_that_is_gone_is_said(origin: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckoutError):
        checkout.fetch(tmp_path / "cache", f"file://{origin}", ["0" * 39 + "1"])


def test_a_tree_over_the_caps_is_refused(origin: Path, tmp_path: Path) -> None:
    sha = git(origin, "rev-parse", "HEAD")
    checkout.fetch(tmp_path / "cache", f"file://{origin}", [sha])
    with pytest.raises(CheckoutError, match="allowed"):
        checkout.export(tmp_path / "cache", sha, tmp_path / "out", Caps(file_bytes=3))


def test_a_job_gets_each_of_its_commits_once_and_the_tip_only_where_it_moved_on(origin: Path, tmp_path: Path) -> None:
    first = git(origin, "rev-parse", "HEAD")
    (origin / "a.txt").write_text("two\n")
    git(origin, "commit", "-qam", "two")
    second = git(origin, "rev-parse", "HEAD")
    at = git_directory(origin)
    still = checkout.trees(job(base=first, head=second, judge=first, tip=first), at, tmp_path / "still")
    assert still.tip is None and still.base == still.judge and (still.head / "a.txt").read_text() == "two\n"
    moved = checkout.trees(job(base=first, head=first, judge=first, tip=second), at, tmp_path / "moved")
    assert moved.tip is not None and (moved.tip / "a.txt").read_text() == "two\n"


def test_merge_base_is_the_common_ancestor(origin: Path) -> None:
    first = git(origin, "rev-parse", "HEAD")
    tips = []
    for name in ("left", "right"):
        git(origin, "checkout", "-qb", name, first)
        git(origin, "commit", "-qm", name, "--allow-empty")
        tips.append(git(origin, "rev-parse", "HEAD"))
    assert checkout.merge_base(origin / ".git", *tips) == first


def test_the_cache_keeps_what_was_used_last_within_its_size(tmp_path: Path) -> None:
    cache = GitCache(tmp_path, most_bytes=5 << 20)
    for number, url in enumerate("abc"):
        place = cache.place(url)
        (place / "objects/pack").mkdir(parents=True)
        (place / "objects/pack/x.pack").write_bytes(b"x" * (2 << 20))
        os.utime(place, (number, number))
    assert cache.place("a").exists()  # used now: the oldest is b
    assert cache.place("c").exists() and not cache.place("b").exists()
    (cache.place("a") / "objects/pack/y.pack").write_bytes(b"y" * (6 << 20))
    assert not cache.place("a").exists()


def test_what_a_killed_git_left_stops_no_later_fetch(origin: Path, tmp_path: Path) -> None:
    cache, url = GitCache(tmp_path / "git"), f"file://{origin}"
    checkout.fetch(cache.place(url), url, [git(origin, "rev-parse", "HEAD")])
    git(origin, "commit", "-qm", "two", "--allow-empty")
    (cache.place(url) / "shallow.lock").touch()
    (cache.place(url) / "objects/pack/tmp_pack_x").touch()
    checkout.fetch(cache.place(url), url, [git(origin, "rev-parse", "HEAD")])


def test_earlier_fetches_do_not_count_against_the_cap_of_a_new_one(origin: Path, tmp_path: Path) -> None:
    shas = []
    for _ in range(3):
        (origin / "a.bin").write_bytes(os.urandom(300_000))
        git(origin, "add", "-A")
        git(origin, "commit", "-qm", "more")
        shas.append(git(origin, "rev-parse", "HEAD"))
        checkout.fetch(tmp_path / "cache", f"file://{origin}", shas, caps=Caps(packed_bytes=500_000))
    with pytest.raises(CheckoutError, match="brought more than 200000 bytes"):
        checkout.fetch(tmp_path / "another", f"file://{origin}", shas[:1], caps=Caps(packed_bytes=200_000))
