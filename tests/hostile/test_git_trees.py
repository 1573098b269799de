"""Trees that git can hold and no checkout should: capped with clear words, written as plain files, or refused; nothing of theirs runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from control_side import control_side
from small_suite import job

from bot.core.errors import ConfigError
from bot.core.repo_config import read_config
from runners import checkout
from runners.checkout import Caps
from runners.git import CheckoutError
from runners.node import Node
from runners.node_client import NodeClient
from runners.node_settings import NodeSettings

WHO = "a <a@localhost> 0 +0000"
LFS_FILTER = '[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tfsmonitor = "touch @MARK@"\n\thooksPath = .\n'


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    place = tmp_path / "bare.git"
    subprocess.run(["git", "init", "-q", "--bare", str(place)], check=True)
    return place


def git(bare: Path, *words: str, told: bytes = b"") -> str:
    return subprocess.run(["git", "--git-dir", str(bare), *words], input=told, check=True, capture_output=True).stdout.decode().strip()


def commit_of_files(bare: Path, files: dict[str, tuple[str, str]]) -> str:
    """A commit of (mode, content) by path; no work tree stands in the way of what it holds."""
    said = f"commit refs/heads/main\ncommitter {WHO}\ndata 0\n\n"
    for path, (mode, content) in files.items():
        size = len(content.encode())
        said += f"M {mode} {content} {path}\n" if mode == "160000" else f"M {mode} inline {path}\ndata {size}\n{content}\n"
    git(bare, "fast-import", "--quiet", "--force", told=said.encode())
    return git(bare, "rev-parse", "main")


def commit_of_tree(bare: Path, *listed: str) -> str:
    tree = tree_of(bare, *listed)
    return git(bare, "-c", "user.name=a", "-c", "user.email=a@localhost", "commit-tree", tree, "-m", "x")


def tree_of(bare: Path, *listed: str) -> str:
    return git(bare, "mktree", told="".join(f"{line}\n" for line in listed).encode())


def blob(bare: Path) -> str:
    return git(bare, "hash-object", "-w", "--stdin", told=b"x")


def refused(bare: Path, sha: str, into: Path, caps: Caps = Caps()) -> str:
    with pytest.raises(CheckoutError) as error:
        checkout.export(bare, sha, into, caps)
    return str(error.value)


def test_links_submodules_filters_and_an_embedded_repository_are_plain_files_or_nothing(bare: Path, tmp_path: Path) -> None:
    mark = tmp_path / "it-ran"
    sha = commit_of_files(bare, {
        "out": ("120000", "/etc/passwd"),
        "up": ("120000", "../../.."),
        ".gitattributes": ("100644", "* filter=evil diff=evil merge=evil text eol=crlf ident export-subst working-tree-encoding=UTF-16\n"),
        ".gitconfig": ("100644", f'[filter "evil"]\n\tsmudge = touch {mark}\n\trequired = true\n'),
        ".gitmodules": ("100644", f'[submodule "m"]\n\tpath = m\n\turl = ext::sh -c "touch {mark}"\n\tupdate = "!touch {mark}"\n'),
        "m": ("160000", "1" * 40),
        "kernels/a.cu": ("100644", "$Id$\n$Format:%H$\n"),
        "inner/HEAD": ("100644", "ref: refs/heads/main\n"),
        "inner/config": ("100644", LFS_FILTER.replace("@MARK@", str(mark))),
        "inner/post-checkout": ("100755", f"#!/bin/sh\ntouch {mark}\n"),
        "inner/objects/x": ("100644", ""),
        "inner/refs/x": ("100644", ""),
        "inner/commondir": ("100644", "/etc\n"),
    })  # fmt: skip
    cache, out = tmp_path / "cache", tmp_path / "trees"
    try:
        checkout.fetch(cache, f"file://{bare}", [sha])
    except CheckoutError as error:  # git's own check of what it receives refuses such a submodule from 2.24 on
        assert "gitmodules" in str(error)
        cache = bare
    written = checkout.trees(job(base=sha, head=sha, judge=sha, tip=sha), cache, out).head
    files = [path for path in written.rglob("*") if not path.is_dir()]
    assert all(path.is_file() and not path.is_symlink() for path in files) and not (written / "m").exists()
    assert (written / "out").read_text() == "/etc/passwd" and (written / "kernels/a.cu").read_bytes() == b"$Id$\n$Format:%H$\n"
    assert "no git repository" in _no_repository(written / "inner") and not mark.exists()


def _no_repository(folder: Path) -> str:
    """What our git says from inside an embedded one; an ordinary git would take it for a repository."""
    with pytest.raises(CheckoutError) as error:
        checkout.git_directory(folder)
    return str(error.value)


def test_a_quarter_of_a_million_files_are_counted_no_further_than_the_cap(bare: Path, tmp_path: Path) -> None:
    one = blob(bare)
    hundreds = tree_of(bare, *(f"100644 blob {one}\t{number}" for number in range(500)))
    sha = commit_of_tree(bare, *(f"040000 tree {hundreds}\t{number}" for number in range(500)))
    assert refused(bare, sha, tmp_path / "out", Caps(files=20_000)) == "the tree has more than the 20000 files that are allowed"
    assert not (tmp_path / "out").exists()


def test_trees_of_trees_without_end_are_read_no_further_than_the_caps(bare: Path, tmp_path: Path) -> None:
    full, empty = tree_of(bare, f"100644 blob {blob(bare)}\tx"), tree_of(bare)
    for _ in range(30):
        full, empty = (tree_of(bare, *(f"040000 tree {tree}\t{name}" for name in "ab")) for tree in (full, empty))
    caps = Caps(files=1000, seconds=0.5)
    assert "more than the 1000 files" in refused(bare, commit_of_tree(bare, f"040000 tree {full}\tx"), tmp_path / "out", caps)
    assert "within 0.4 s" in refused(bare, commit_of_tree(bare, f"040000 tree {empty}\tx"), tmp_path / "out", Caps(seconds=0.4))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("x" * 256, "longer than"),
        ("/".join(["y" * 100] * 12), "longer than"),
        ("z" * 200_000, "longer than|more than 1000 bytes"),
        ("d/" * 400 + "f", "more than 64 folders deep"),
        ("d/" * 3000 + "f", "longer than"),
    ],
)
def test_names_that_no_folder_holds_are_the_trees_fault_and_said(bare: Path, tmp_path: Path, name: str, says: str) -> None:
    sha = commit_of_files(bare, {name: ("100644", "x")})
    text = refused(bare, sha, tmp_path / "out")
    assert any(part in text for part in says.split("|")) and len(text) < 400


@pytest.mark.parametrize(
    ("listed", "says"),
    [
        (("100644 blob {blob}\t..",), "leads out"),
        (("040000 tree {tree}\t.GIT",), "leads out"),
        (("040000 tree {tree}\t..",), "leads out"),
        (("100644 blob {blob}\ta\\..\\b",), "leads out"),
        (("100644 blob {blob}\ta", "040000 tree {tree}\ta"), "a file and for a folder"),
    ],
)
def test_names_that_lead_elsewhere_are_refused(bare: Path, tmp_path: Path, listed: tuple[str, ...], says: str) -> None:
    one = blob(bare)
    tree = tree_of(bare, f"100644 blob {one}\tx")
    sha = commit_of_tree(bare, *(line.format(blob=one, tree=tree) for line in listed))
    assert says in refused(bare, sha, tmp_path / "out")


def test_a_node_tells_of_such_a_tree_and_does_not_rest_for_it(bare: Path, tmp_path: Path) -> None:
    sha = commit_of_files(bare, {"x" * 256: ("100644", "x")})
    mine = [job(clone_url=f"file://{bare}", base=sha, judge=sha, head=sha, tip=sha) for _ in range(3)]
    with control_side(jobs=mine) as side:
        settings = NodeSettings(url=side.url, node_key="k", pool="host", device="host", state=tmp_path / "state", node_name="n")
        Node(settings, NodeClient(side.url, "k")).work()
        ends = [call.said["outcome"] for call in side.of("done")]
    assert len(ends) == 3 and not side.of("rest")
    assert all(f"commit {sha[:12]} can't be checked out: a file name is longer than" in end["failure"]["message"] for end in ends)


DOTS = "a" + ".a" * 30_000


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 30_000, "a = " + "{a=" * 15_000, f"{DOTS} = 1", f"[{DOTS}]", f"[[{DOTS}]]", "x" * 60_000 + "."]
)
def test_deep_configuration_is_an_error_with_words(text: str) -> None:
    with pytest.raises(ConfigError) as error:
        read_config(f"version = 1\n{text}")
    assert len(str(error.value)) < 300
