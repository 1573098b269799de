"""`kernelgate run` on bad heads and bad input: exit code, verdict and the sentence that a person reads."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from local_repository import Repository, repository

from bot.cli.run import run as run_command
from runners.toolchains import host_compiler

SLEEP = "import time\n\n\ndef builds(case, device, tunables):\n    time.sleep(1e6)\n"
UNGATED = ("mode=accuracy", "set=block:64")  # without times, and a sweep is not compiled for every target
DEFECTS = {
    "nobuild": ("scale.cu", "x[i];", "z[i];", "build_failed", "kernels/nobuild/nobuild.cu:4"),
    "endless": ("scale.cu", "    if (i < n)", "    volatile int spin = 1; while (spin) {}\n    if (i < n)", "timed_out", ""),
    "nowhere": ("scale.cu", "if (i < n)", "if (i == 0) *(volatile int*)0 = 1;\n    if (i < n)", "crashed", "signal 11"),
    "outside": ("scale.cu", "i < n", "i < n + 1", "incorrect", "wrote 4 bytes outside buffer y"),
    "partial": ("scale.cu", "i < n", "i < n - 1", "incorrect", "1 of 1000 elements unwritten"),
    "notjson": ("plan.py", '"block": [block, 1, 1]', '"block": {block}', "build_failed", "plan.py: launches.0.block: set is not JSON"),
    "schema": ("plan.py", '"grid": [', '"gird": [', "build_failed", "plan.py: launches.0.grid"),
    "raises": ("plan.py", '{"i32": n}', '{"i32": case["none"]}', "build_failed", "plan.py:12: KeyError: 'none'"),
    "seeded": ("plan.py", '"KG_FACTOR": 2', '"KG_FACTOR": 2, "KG_H": hash("a") % 997', "build_failed", "different hash seeds"),
}


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """One kernel for each defect, one that stays as it is, and one whose plan sleeps."""
    return repository(tmp_path_factory.mktemp("bad") / "kernels", *DEFECTS, "sleeps", "sound")


@pytest.fixture(scope="module")
def scale(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """The kernel `scale` alone, and branches with a configuration."""
    made = repository(tmp_path_factory.mktemp("bad") / "scale", "scale")
    made.commit("comma", {".kernelgate.toml": "version = 1\n[gate]\nharm = \n"})
    made.commit("unknown-key", {".kernelgate.toml": "version = 1\n[gate]\nharn = 0.1\n"})
    made.commit("no-suite", {".kernelgate.toml": 'version = 1\n[suite]\nkernels = "nowhere"\n'})
    return made


def test_each_defect_is_its_own_kernels(kernels: Repository) -> None:
    changes = [kernels.changed(name, file, old, new) for name, (file, old, new, *_) in DEFECTS.items()]
    head = kernels.commit("defects", {path: text for change in changes for path, text in change.items()})
    done = kernels.run("main", head, *UNGATED)
    assert (done.code, done.run["verdict"]) == (1, "broken")
    found = {name: (case["verdict"], case["reason"]) for name, case in done.cases.items()}
    assert {name: verdict for name, (verdict, _) in found.items()} == {
        **{name: verdict for name, (*_, verdict, _) in DEFECTS.items()}, "sound": "identical", "sleeps": "identical",
    }  # fmt: skip
    assert all(says in found[name][1] for name, (*_, says) in DEFECTS.items()), found
    assert "nobuild.cu:4:" in done.stdout and "z[i];" in done.stdout  # the compiler's own log
    assert "The head is wrong where the base is right" in done.stdout


def test_a_plan_that_sleeps_for_ever_costs_its_limit_once(kernels: Repository) -> None:
    head = kernels.commit("slow", kernels.changed("sleeps", "plan.py", "def builds(case, device, tunables):\n", SLEEP))
    done = kernels.run("main", head, "mode=accuracy")
    assert (done.code, done.run["verdict"], done.cases["sleeps"]["verdict"]) == (1, "broken", "build_failed")
    assert "kernels/sleeps/plan.py: took longer than 30 s" in done.stdout and not done.run["static"]


def test_a_judge_that_head_changes_is_never_green(scale: Repository) -> None:
    head = scale.commit("judge", scale.changed("scale", "cases.py", "(1000, 4099)", "(1000,)"))
    done = scale.run("main", head, *UNGATED)
    assert (done.code, done.run["verdict"], done.run["changed_judge"]) == (3, "judge_changed", ["kernels/scale/cases.py"])
    assert "- `kernels/scale/cases.py`" in done.stdout and "a maintainer has to look" in done.stdout


def test_a_kernel_that_head_deletes_is_never_green(scale: Repository) -> None:
    head = scale.commit("gone", {f"kernels/scale/{name}": None for name in ("plan.py", "scale.cu", "cases.py", "reference.py")})
    done = scale.run("main", head)
    assert done.code == 3 and {case["verdict"] for case in done.run["cases"]} == {"removed"}
    assert "| removed" in done.stdout


def test_a_head_that_is_its_base_passes_without_a_time(scale: Repository) -> None:
    done = scale.run("main", "main")  # there is no .kernelgate.toml, so defaults hold
    assert (done.code, done.run["verdict"], {case["verdict"] for case in done.run["cases"]}) == (0, "pass", {"identical"})
    assert all(case["time_us"]["base"] is None for case in done.run["cases"]) and "No time was measured." in done.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("comma", "main"), ".kernelgate.toml: line 3: Invalid value"),
        (("unknown-key", "main"), ".kernelgate.toml: line 3: unknown key gate.harn (did you mean harm?)"),
        (("no-suite", "main"), "no folder below 'nowhere' holds a plan.py"),
        (("nosuch", "main"), "'nosuch' names no commit of this repository"),
        (("main", "nosuch"), "'nosuch' names no commit of this repository"),
        (("main", "-x"), "'-x' names no commit"),
        (("main", "main", "base=nosuch"), "'nosuch' names no commit of this repository"),
        (("main", "main", "models=llama-2b"), "'llama-2b': unknown model (did you mean llama-1b?)"),
        (("main", "main", "models=llama-1b"), "no case of any kernel is selected"),
        (("main", "main", "kernels=scal"), "there is no kernel 'scal', only scale (did you mean scale?)"),
        (("main", "main", "modles=all"), "'modles=all': unknown key (did you mean models=?)"),
        (("main", "main", "--device", "gpu"), "'gpu' is no device: host, cuda:N or hip:N"),
        (("main", "main", "--devic", "host"), "Did you mean '--device'?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_run_is_said_in_a_line(scale: Repository, words: tuple[str, ...], says: str) -> None:
    done = scale.run(*words)
    assert (done.code, done.stdout, done.run) == (2, "", None)
    assert says in done.stderr and "Traceback" not in done.stderr


def test_a_folder_without_a_commit_or_a_repository_cannot_run(tmp_path: Path) -> None:
    bare = Repository(tmp_path)
    assert "is in no git repository" in bare.run("main", "main").stderr
    bare.git("init", "-q")
    empty = bare.run("main", "main")
    assert empty.code == 2 and "'main' names no commit" in empty.stderr


def test_a_machine_without_a_compiler_is_told_what_to_install(scale: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    class Bare(type(Path())):  # type: ignore[misc]
        def exists(self) -> bool:
            return False

    host_compiler.find.cache_clear()
    monkeypatch.setattr(host_compiler, "Path", Bare)
    monkeypatch.setattr(host_compiler, "zig_folder", lambda: None)
    done = CliRunner().invoke(run_command, ["--repo", str(scale.path), "--base", "main", "--head", "main", "--quiet"])
    assert (done.exit_code, done.output) == (2, "Error: no C++ compiler: install g++ or clang++, or pip install ziglang\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_interrupted_leaves_nothing_and_says_so(kernels: Repository, tmp_path: Path, number: signal.Signals) -> None:
    head = kernels.commit("loops", kernels.changed("endless", *DEFECTS["endless"][:3]))
    running = kernels.start("main", head, TMPDIR=str(tmp_path))
    assert running.process.stderr is not None
    while "build" not in running.process.stderr.readline():
        time.sleep(0)
    running.process.send_signal(number)
    done = running.end()
    assert (done.code, done.stdout, list(tmp_path.iterdir())) == (2, "", []) and "Error: interrupted" in done.stderr
