"""Finds kernel folders and reads their modules.

Reading runs a repository's code: `load_folder` is called inside the sandbox only (and on our own suite by its tests).
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType

SUITE = Path(__file__).resolve().parent


class CatalogError(ValueError):
    """A kernel folder breaks the contract; the message names file and line where there is one."""


@dataclass(frozen=True)
class KernelFolder:
    """A kernel folder whose modules are imported when first asked for: a broken reference.py doesn't spoil plan.py."""

    name: str
    path: Path

    @cached_property
    def plan(self) -> ModuleType:
        return self._module("plan")

    @cached_property
    def cases(self) -> ModuleType:
        return self._module("cases")

    @cached_property
    def reference(self) -> ModuleType:
        return self._module("reference")

    def _module(self, stem: str) -> ModuleType:
        check_imports(self.path, stem)
        return importlib.import_module(f"{self.name}.{stem}")


def kernel_names(suite: Path = SUITE) -> tuple[str, ...]:
    """The kernels under `suite`, sorted: its folders that hold a plan.py. Links are not followed out of it."""
    if not suite.is_dir():
        return ()
    found = (entry for entry in suite.iterdir() if not entry.is_symlink() and entry.is_dir())
    return tuple(sorted(entry.name for entry in found if (entry / "plan.py").is_file()))


def load_folder(path: Path) -> KernelFolder:
    """The folder at `path`, registered as a package of its own name so that `from .cases import X` works."""
    name = path.name
    if not name.isidentifier():
        raise CatalogError(f"{name!r} is no kernel name: letters, digits and _ only")
    if name in sys.stdlib_module_names or name in sys.modules:
        if getattr(sys.modules.get(name), "__path__", None) != [str(path)]:
            raise CatalogError(f"a kernel folder can't be called {name!r}: another module has that name")
        return KernelFolder(name, path)
    package = ModuleType(name)
    package.__path__ = [str(path)]
    sys.modules[name] = package
    return KernelFolder(name, path)


def check_imports(folder: Path, stem: str) -> None:
    """CatalogError unless `stem` and what it imports of its folder use the standard library and NumPy only (a plan: no NumPy)."""
    allowed = set(sys.stdlib_module_names) | {folder.name} | (set() if stem == "plan" else {"numpy"})
    pending, seen = [stem], {stem}
    while pending:
        current = pending.pop()
        source = folder / f"{current}.py"
        if not source.is_file():
            raise CatalogError(f"{folder.name}/{current}.py is missing")
        for line, module, own in _imports(source, folder.name):
            if not own and module not in allowed:
                raise CatalogError(f"{folder.name}/{current}.py:{line}: import of {module!r}: {_rule(stem)}")
            if own and module not in seen and (folder / f"{module}.py").is_file():
                seen.add(module)
                pending.append(module)


def _rule(stem: str) -> str:
    return f"{stem}.py may import the standard library and its own folder" + ("" if stem == "plan" else " and NumPy")


def _imports(source: Path, package: str) -> Iterator[tuple[int, str, bool]]:
    """(line, module, whether of the own folder) of each import statement."""
    try:
        tree = ast.parse(source.read_bytes(), filename=source.name)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", 0) or 0
        raise CatalogError(f"{package}/{source.name}:{line}: {getattr(error, 'msg', error)}") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top, _, rest = alias.name.partition(".")
                yield (node.lineno, rest, True) if top == package and rest else (node.lineno, top, False)
        elif isinstance(node, ast.ImportFrom):
            yield from _from_import(node, package)


def _from_import(node: ast.ImportFrom, package: str) -> Iterator[tuple[int, str, bool]]:
    top, _, rest = (node.module or "").partition(".")
    if node.level > 1:
        raise CatalogError(f"line {node.lineno}: an import from above the kernel folder")
    if node.level == 0 and top != package:
        yield node.lineno, top, False
        return
    module = top if node.level else rest
    for name in [module] if module else [alias.name for alias in node.names]:
        yield node.lineno, name, True
