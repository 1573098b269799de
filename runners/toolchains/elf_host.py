"""What a host object file says of its kernels: parameters, shared variables, and one hash per kernel over its closure."""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from typing import Any

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from runners.emulator.description import Parameter

SHARED_SECTION = re.compile(r"^\.l?bss\.(?P<symbol>.*B9kg_shared.*)$")  # by the tag that the prelude's __shared__ gives
GLOBAL_SECTION = re.compile(r"^\.l?bss\.(?!.*B9kg_shared)")
RED_ZONE = 256  # bytes after each shared variable of an instrumented build, so that an overrun meets nothing legal
LOADERS = frozenset({"SHT_INIT_ARRAY", "SHT_FINI_ARRAY", "SHT_PREINIT_ARRAY"})
IFUNC = "STT_LOOS"  # GNU's: a function that chooses another
_QUALIFIERS = frozenset({"DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_restrict_type"})
_POINTERS = frozenset({"DW_TAG_pointer_type", "DW_TAG_reference_type", "DW_TAG_rvalue_reference_type"})
_DW_ATE_FLOAT = 4


class UnusableKernel(ValueError):
    """A kernel's signature holds something other than scalars and pointers; names kernel and parameter."""


@dataclass(frozen=True)
class HostKernel:
    """One kernel; `shared` names the symbols of the shared variables that it or its callees use, with their sizes."""

    name: str
    parameters: tuple[Parameter, ...]
    hash: str
    code_bytes: int
    shared: tuple[tuple[str, int], ...]

    @property
    def static_shared(self) -> int:
        return sum(size for _, size in self.shared)


class HostObject:
    """A relocatable object compiled with one section per function and datum."""

    def __init__(self, data: bytes) -> None:
        self.elf = ELFFile(BytesIO(data))
        self.sections: list[Any] = list(self.elf.iter_sections())
        self.relocations = {s["sh_info"]: s for s in self.sections if s["sh_type"] in ("SHT_RELA", "SHT_REL")}

    @cached_property
    def symbols(self) -> list[Any]:
        table = self.elf.get_section_by_name(".symtab")
        return list(table.iter_symbols()) if isinstance(table, SymbolTableSection) else []

    def kernels(self) -> tuple[HostKernel, ...]:
        """Every function the source exports, which is what `__global__` does."""
        found = {s.name: s for s in self.symbols if _exported_function(s)}
        signatures = self._signatures(set(found))
        return tuple(self._kernel(name, found[name], signatures.get(name, ())) for name in sorted(found))

    def globals(self) -> tuple[tuple[str, int], ...]:
        """Symbols and sizes of the variables that outlive a block, as a device's globals do."""
        return tuple(sorted((s.name, s["st_size"]) for s in self.symbols if self._is_global(s)))

    def _is_global(self, symbol: Any) -> bool:
        if symbol["st_info"]["type"] != "STT_OBJECT" or not isinstance(symbol["st_shndx"], int):
            return False
        section = self.sections[symbol["st_shndx"]]
        return bool(section["sh_flags"] & 1) and not SHARED_SECTION.match(section.name)

    def run_when_loaded(self) -> str:
        """The first section or function that a loader would run by itself; no hash of a kernel covers it."""
        found = [s.name for s in self.sections if s["sh_type"] in LOADERS or s.name.startswith((".ctors", ".dtors", ".init", ".fini"))]
        found += [s.name for s in self.symbols if s["st_info"]["type"] == IFUNC]
        return found[0] if found else ""

    def undefined(self) -> frozenset[str]:
        """Names the object expects from elsewhere."""
        return frozenset(s.name for s in self.symbols if s["st_shndx"] == "SHN_UNDEF" and s.name)

    def defined(self) -> frozenset[str]:
        """Global names the object has to offer."""
        return frozenset(s.name for s in self.symbols if isinstance(s["st_shndx"], int) and s["st_info"]["bind"] != "STB_LOCAL")

    def _kernel(self, name: str, symbol: Any, parameters: tuple[Parameter, ...]) -> HostKernel:
        closure = Closure(self)
        closure.visit(symbol["st_shndx"])
        used = [self.sections[index] for index in closure.order]
        shared = [(match["symbol"], s["sh_size"]) for s in used if (match := SHARED_SECTION.match(s.name))]
        code = sum(s["sh_size"] for s in used if s["sh_flags"] & 4)
        return HostKernel(name, parameters, closure.digest(), code, tuple(sorted(shared)))

    def _signatures(self, names: set[str]) -> dict[str, tuple[Parameter, ...]]:
        if not self.elf.has_dwarf_info():
            return {}
        found = {}
        for unit in self.elf.get_dwarf_info().iter_CUs():
            for die in unit.get_top_DIE().iter_children():
                if die.tag == "DW_TAG_subprogram" and _text(die, "DW_AT_name") in names and "DW_AT_declaration" not in die.attributes:
                    found[_text(die, "DW_AT_name")] = tuple(_parameters(die))
        return found


class Closure:
    """Depth-first walk over the sections a function reaches; names and addresses leave no trace in the digest."""

    def __init__(self, source: HostObject) -> None:
        self.source = source
        self.order: list[int] = []
        self.parts: list[str] = []

    def visit(self, index: int) -> int:
        """Number of section `index` in the order of first reach."""
        if index in self.order:
            return self.order.index(index)
        self.order.append(index)
        number = len(self.order) - 1
        section = self.source.sections[index]
        body = "" if section["sh_type"] == "SHT_NOBITS" else hashlib.sha256(section.data()).hexdigest()
        self.parts.append(f"{number} {section['sh_type']} {section['sh_flags']} {section['sh_size']} {section['sh_addralign']} {body}")
        relocations = self.source.relocations.get(index)
        for entry in sorted(relocations.iter_relocations(), key=lambda r: int(r["r_offset"])) if relocations else ():
            target = self._target(entry)
            self.parts.append(f"{number} {entry['r_offset']} {entry['r_info_type']} {target}")
        return number

    def _target(self, entry: Any) -> str:
        symbol, addend = self.source.symbols[entry["r_info_sym"]], entry.entry.get("r_addend", 0)
        index = symbol["st_shndx"]
        if not isinstance(index, int):
            return f"{index} {symbol.name} {addend}"
        section = self.source.sections[index]
        if section["sh_flags"] & 0x10 and symbol["st_info"]["type"] != "STT_SECTION":  # constants pooled over all functions
            return f"constant {_pooled(section, symbol['st_value']).hex()} {addend}"
        return f"section {self.visit(index)} {symbol['st_value'] + addend}"

    def digest(self) -> str:
        return hashlib.sha256("\n".join(self.parts).encode()).hexdigest()


def with_red_zones(data: bytes) -> bytes:
    """The object with every shared variable's section grown, so that the linker leaves a gap behind each.

    Globals get names that linkers put elsewhere: what lies between shared variables costs the race check memory.
    """
    elf, patched = ELFFile(BytesIO(data)), bytearray(data)
    for index, section in enumerate(elf.iter_sections()):
        place = elf["e_shoff"] + index * elf["e_shentsize"]  # of a 64-bit section header: sh_name at 0, sh_size at 32
        if SHARED_SECTION.match(section.name) and section["sh_type"] == "SHT_NOBITS":
            struct.pack_into("<Q", patched, place + 32, section["sh_size"] + RED_ZONE)
        elif GLOBAL_SECTION.match(section.name):
            struct.pack_into("<I", patched, place, section["sh_name"] + section.name.index("s."))
    return bytes(patched)


def symbol_values(data: bytes) -> dict[str, int]:
    """Addresses of a linked library's named objects and functions."""
    table = ELFFile(BytesIO(data)).get_section_by_name(".symtab")
    kinds = ("STT_OBJECT", "STT_FUNC", "STT_NOTYPE")
    if not isinstance(table, SymbolTableSection):
        return {}
    return {s.name: s["st_value"] for s in table.iter_symbols() if s["st_info"]["type"] in kinds and s.name}


def variable_name(symbol: str) -> str:
    """`As` of `_ZZ4gemmE2As`, `tiles` of `_ZL5tilesB9kg_shared`: the length-prefixed word that ends a mangled name but for its tag."""
    symbol = symbol.replace("B9kg_shared", "")
    for match in re.finditer(r"(?=(\d+))", symbol):
        begin = match.start() + len(match[1])
        name, rest = symbol[begin : begin + int(match[1])], symbol[begin + int(match[1]) :]
        if len(name) == int(match[1]) > 0 and re.fullmatch(r"E?(_\d+)?", rest):
            return name
    return symbol


def _exported_function(symbol: Any) -> bool:
    visible = symbol["st_other"]["visibility"] == "STV_DEFAULT" and symbol["st_info"]["bind"] == "STB_GLOBAL"
    return visible and symbol["st_info"]["type"] == "STT_FUNC" and isinstance(symbol["st_shndx"], int)


def _pooled(section: Any, offset: int) -> bytes:
    data: bytes = section.data()
    if section["sh_flags"] & 0x20:
        return data[offset : data.index(b"\0", offset) + 1]
    return data[offset : offset + (section["sh_entsize"] or len(data))]


def _text(die: Any, name: str) -> str:
    attribute = die.attributes.get(name)
    return attribute.value.decode() if attribute is not None else ""


def _parameters(function: Any) -> Iterator[Parameter]:
    for die in function.iter_children():
        if die.tag == "DW_TAG_formal_parameter":
            kind = die.get_DIE_from_attribute("DW_AT_type")
            while kind.tag in _QUALIFIERS:
                kind = kind.get_DIE_from_attribute("DW_AT_type")
            yield _scalar(kind, f"{_text(function, 'DW_AT_name')}({_text(die, 'DW_AT_name')})")


def _scalar(kind: Any, where: str) -> Parameter:
    if kind.tag in _POINTERS:
        return Parameter(8, False)
    if kind.tag in ("DW_TAG_base_type", "DW_TAG_enumeration_type") and (size := kind.attributes["DW_AT_byte_size"].value) <= 8:
        encoding = kind.attributes.get("DW_AT_encoding")
        return Parameter(size, encoding is not None and encoding.value == _DW_ATE_FLOAT)
    raise UnusableKernel(f"{where}: kernel parameters are scalars and pointers")
