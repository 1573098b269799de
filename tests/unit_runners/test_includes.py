"""No kernel source reaches a file outside checkout, prelude and toolchain headers, and none is quoted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from runners.toolchains import CompileError, logs
from runners.toolchains.includes import Scope, closure

Checkout = Callable[[Mapping[str, str]], Scope]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """Writes files into a checkout with the kernel folder `kernels/k` and gives its scope."""

    def write(files: Mapping[str, str]) -> Scope:
        for name, text in files.items():
            path = tmp_path / "src" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return Scope(tmp_path / "src", "kernels/k")

    return write


def refusal(scope: Scope) -> CompileError:
    with pytest.raises(CompileError) as caught:
        closure(scope, "k.cu")
    assert "root:" not in caught.value.log
    return caught.value


def test_a_clean_kernel_gives_every_file_it_can_read(checkout: Checkout) -> None:
    scope = checkout(
        {
            "kernels/k/k.cu": '#include "kg.h"\n#include "tile.h"\n#include <shared.h>\n',
            "kernels/k/tile.h": '#include "../common.h"\n',
            "kernels/common.h": "",
            "kernels/include/shared.h": "#pragma once\n",
        }
    )
    assert closure(scope, "k.cu") == ("kernels/common.h", "kernels/include/shared.h", "kernels/k/k.cu", "kernels/k/tile.h")


@pytest.mark.parametrize(
    "line",
    [
        '#include "/proc/self/environ"',
        "#include </proc/self/environ>",
        "  #  include /* here */ </proc/self/environ>",
        "# /* across\nlines */ include </proc/self/environ>",
        "#inc\\\nlude </proc/self/environ>",
        "#inc\\  \nlude </proc/self/environ>",
        "%:include </proc/self/environ>",
        "??=include </proc/self/environ>",
        "/* */ #include </proc/self/environ>",
        "/* begins\n ends */ #include </proc/self/environ>",
        '"/*"; // */\n#include </proc/self/environ>',
        'R"(" /* )";\n#include </proc/self/environ>\n/* */',
        "// splice \\\n\n#include </proc/self/environ>",
        "\xa0#include </proc/self/environ>",
        '#include "../../../../../../proc/self/environ"',
        f'#include "{"n" * 256}"',
        "#include <../../proc/self/environ>",
        "#define WHERE </proc/self/environ>\n#include WHERE",
        "#include KG_WHERE",
        '#include_next "/proc/self/environ"',
        '#import "/proc/self/environ"',
        '#if __has_include("/etc/shadow")\n#endif',
        '#if __has_embed("/etc/shadow")\n#endif',
        '#embed "/proc/self/environ"',
        '#line 1 "/proc/self/environ"',
        '# 1 "/proc/self/environ"',
        'asm(".incbin \\"/proc/self/environ\\"");',
        '_Pragma("GCC dependency \\"/proc/self/environ\\"")',
        "#if 0\n#include </proc/self/environ>\n#endif",
    ],
)
def test_every_way_out_is_refused_with_its_line(checkout: Checkout, line: str) -> None:
    scope = checkout({"kernels/k/k.cu": f'#include "kg.h"\n{line}\n'})
    error = refusal(scope)
    assert error.file == "kernels/k/k.cu"
    assert 2 <= error.line <= 4
    assert f"kernels/k/k.cu:{error.line}:" in str(error)


def test_a_line_after_spliced_lines_keeps_its_number(checkout: Checkout) -> None:
    scope = checkout({"kernels/k/k.cu": "#define A \\\n 1 \\\n 2\nint x;\n#include </etc/passwd>\n"})
    assert refusal(scope).line == 5


def test_a_header_of_the_checkout_is_looked_through_too(checkout: Checkout) -> None:
    scope = checkout({"kernels/k/k.cu": '#include "tile.h"\n', "kernels/k/tile.h": "int x;\n#include </etc/passwd>\n"})
    error = refusal(scope)
    assert (error.file, error.line) == ("kernels/k/tile.h", 2)


def test_climbing_is_judged_from_the_including_file_only(checkout: Checkout) -> None:
    """From the prelude's place `../proc/self/environ` is the process's own environment, whatever the checkout holds."""
    scope = checkout({"kernels/k/k.cu": "#include <../proc/self/environ>\n", "kernels/proc/self/environ": ""})
    assert refusal(scope).line == 1


@pytest.mark.parametrize("target", ["/proc/self/environ", "../../../../../etc/passwd", "real.h"])
def test_no_symbolic_link_is_followed(checkout: Checkout, target: str) -> None:
    scope = checkout({"kernels/k/k.cu": '#include "link.h"\n', "kernels/k/real.h": ""})
    (scope.checkout / "kernels/k/link.h").symlink_to(target)
    assert "symbolic link" in str(refusal(scope))


def test_nothing_hides_the_prelude(checkout: Checkout) -> None:
    scope = checkout({"kernels/k/k.cu": '#include "kg.h"\n', "kernels/k/kg.h": ""})
    assert "hides the prelude" in str(refusal(scope))


def test_the_source_itself_lies_in_the_checkout(checkout: Checkout) -> None:
    scope = checkout({"kernels/k/k.cu": ""})
    for source in ("/etc/passwd", "../../../../etc/passwd", "none.cu"):
        with pytest.raises(CompileError):
            closure(scope, source)


@examples()
@given(st.text(st.sampled_from(list(' \t#%:include"<>/*\\\nx.hR()')), max_size=60))
def test_any_text_is_accepted_or_refused_never_more(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / "kernels/k").mkdir(parents=True)
    (folder / "kernels/k/k.cu").write_text(text)
    try:
        assert closure(Scope(folder, "kernels/k"), "k.cu")[-1].endswith("k.cu")
    except CompileError as error:
        assert error.line >= 1


def test_a_log_loses_the_lines_that_quote_a_foreign_file() -> None:
    raw = (
        '/src/k/k.cu(3): error: identifier "x" is undefined\n  x;\n  ^\n\n'
        "/proc/self/environ(1): error: expected a declaration\n  SECRET=1\n  ^\n\n/src/k/k.cu(9): error: more\n"
    )
    cleaned = logs.clean(raw)
    assert "SECRET" not in cleaned
    assert "k/k.cu(3): error" in cleaned and "k/k.cu(9): error: more" in cleaned
    error = logs.failure(raw)
    assert (error.file, error.line) == ("k/k.cu", 3)


def test_a_log_is_capped() -> None:
    assert len(logs.clean("x" * 1_000_000)) < 40_000


def test_dependencies_outside_are_refused_without_a_word_of_them() -> None:
    opened = logs.dependencies("k.o: /src/k/k.cu /prelude/kg.h \\\n /usr/include/stdio.h /etc/a\\ b\n")
    assert opened == ("/src/k/k.cu", "/prelude/kg.h", "/usr/include/stdio.h", "/etc/a b")
    logs.refuse_foreign(opened[:3], ("/usr/include",), "k/k.cu")
    for foreign in ("/etc/a b", "/src/../etc/passwd", "/prelude/../proc/self/environ"):
        with pytest.raises(CompileError) as caught:
            logs.refuse_foreign((foreign,), ("/usr/include",), "k/k.cu")
        assert foreign not in caught.value.log


@pytest.mark.parametrize(
    "assembly", ['\t.incbin "/proc/self/environ"\n', ' .include "x"\n', '.macro m x\n .\\x "y"\n.endm\n', "\t.rept 2\n"]
)
def test_assembly_that_reads_files_is_refused(assembly: str) -> None:
    with pytest.raises(CompileError):
        logs.refuse_assembler_files(assembly, "k.cu")
