"""A head that wants files of the machine: each way is refused with its line, and no byte of them is in any output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from local_repository import Ended, Repository, repository
from small_suite import PLAN, SOURCE

CANARY = "canary-7c1e9a"
SOURCES = {
    "passwd": '#include "/etc/passwd"',
    "environ": "#include </proc/self/environ>",
    "home": '#include "{home}/secret.h"',
    "computed": '#define WHERE "{home}/secret.h"\n#include WHERE',
    "defined": "#include KG_WHERE",
    "asked": '#if __has_include("{home}/secret.h")\n#error there\n#endif',
    "embedded": 'const char s[] = {{\n#embed "{home}/secret.h"\n}};',
    "assembled": 'asm(".incbin \\"{home}/secret.h\\"");',
    "pasted": 'asm(".inc" "bin \\"{home}/secret.h\\"");',
    "climbing": '#include "../../untracked.h"',
    "linked": '#include "link.h"',
    "quoted": '#line 1 "{home}/secret.h"\n#error here',
}
PLANS = {
    "option": ('"block": tunables', '"options": ["include={home}/secret.h"], "block": tunables'),
    "source": ('"source": "scale.cu"', '"source": "{home}/secret.h"'),
    "opened": ("def builds", 'raise ValueError(open("{home}/secret.h").read())\n\n\ndef builds'),
    "surroundings": ("def builds", 'import os\n\nraise ValueError([*os.environ.items(), open("/proc/1/environ").read()])\n\n\ndef builds'),
}


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """One head with an attack in each kernel, run with secrets in the home folder, the environment and the working tree."""
    root = tmp_path_factory.mktemp("files")
    (root / "home").mkdir()
    (root / "home" / "secret.h").write_text(f"{CANARY}\n")
    made = repository(root / "suite", *SOURCES, *PLANS)
    head = attacks(made, root / "home")
    (made.path / "untracked.h").write_text(f"{CANARY}\n")
    return made.run(
        "main",
        head,
        "mode=accuracy",
        "set=block:64",
        HOME=str(root / "home"),
        KERNELGATE_SECRET=CANARY,
        KERNELGATE_CACHE=str(root / "cache"),
    )


def attacks(made: Repository, home: Path) -> str:
    files: dict[str, str | None] = {}
    for kernel, text in SOURCES.items():
        first, rest = SOURCE.split("\n", 1)
        files[f"kernels/{kernel}/{kernel}.cu"] = f"{first}\n{text.format(home=home)}\n{rest}".replace("scale", kernel)
    where = f'"KG_WHERE": "\\"{home}/secret.h\\"", "KG_FACTOR": 2'
    files["kernels/defined/plan.py"] = PLAN.replace('"KG_FACTOR": 2', where).replace("scale", "defined")
    for kernel, (old, new) in PLANS.items():
        assert old in PLAN
        files[f"kernels/{kernel}/plan.py"] = PLAN.replace(old, new.format(home=home)).replace("scale", kernel)
    return made.commit("attacks", files, {"kernels/linked/link.h": f"{home}/secret.h"})


def test_no_byte_of_a_secret_is_in_any_output(attacked: Ended) -> None:
    """Standard output is the Markdown too."""
    assert attacked.code == 1 and attacked.run["verdict"] == "broken"
    for text in (attacked.stdout, attacked.stderr, json.dumps(attacked.run)):
        assert CANARY not in text and "root:x:" not in text


def test_every_source_is_refused_with_its_line(attacked: Ended) -> None:
    found = {kernel: attacked.cases[kernel] for kernel in SOURCES}
    assert {case["verdict"] for case in found.values()} == {"build_failed"}
    lines = {kernel: case["failures"][0]["line"] for kernel, case in found.items()}
    elsewhere = {"computed": 3, "embedded": 3, "linked": 1, "pasted": 1}  # a link is a file that holds its target
    assert lines == {**dict.fromkeys(SOURCES, 2), **elsewhere}


def test_every_plan_is_refused_by_name(attacked: Ended) -> None:
    says = {kernel: attacked.cases[kernel]["reason"] for kernel in PLANS}
    assert "plan.py: builds.s.options" in says["option"] and "is no regular file of the checkout" in says["source"]
    assert "FileNotFoundError" in says["opened"]
    # another user may not even read what the sandbox's first process was started with
    assert "ValueError" in says["surroundings"] or "PermissionError" in says["surroundings"]
