"""NVIDIA's cubin: resources from `.nv.info` attributes and section sizes, spills from the ptxas report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import Section, SymbolTableSection

from runners.toolchains.elf import KernelFacts, digest

# Attributes of .nv.info: NVIDIA publishes none of them; these were read off cubins of NVRTC 12.9 and 13.
REGISTERS, FRAME, MAX_THREADS, PARAMETER, PARAMETER_BANK = 0x2F, 0x11, 0x05, 0x17, 0x0A
SIZED = 4  # the attribute format whose value has a length; in the others the value is 16 bits
RESERVED_SHARED = 1024  # counted into .nv.shared of every kernel from sm_80 on

_SPILLS = re.compile(
    r"Function properties for (?P<name>\S+)\n[^\n]*?(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores", re.MULTILINE
)


@dataclass(frozen=True)
class Attribute:
    code: int
    value: bytes

    def word(self, index: int) -> int:
        return int.from_bytes(self.value[4 * index : 4 * index + 4], "little")


def facts(image: ELFFile) -> Iterator[KernelFacts]:
    """Every entry function; spills are not in a cubin, `with_spills` adds them from the log."""
    sections = {section.name: section for section in image.iter_sections()}
    names = [name.removeprefix(".nv.constant0.") for name in sections if name.startswith(".nv.constant0.")]
    shared_by_all = list(_module_parts(sections, names))
    for name in names:
        yield _kernel(image, sections, name, shared_by_all)


def with_spills(kernels: tuple[KernelFacts, ...], log: str) -> tuple[KernelFacts, ...]:
    """The kernels with the bytes of spill stores that ptxas reported for each."""
    stores = {match["name"]: int(match["stores"]) for match in _SPILLS.finditer(log)}
    return tuple(replace(kernel, spill_bytes=stores.get(kernel.name, 0)) for kernel in kernels)


def _kernel(image: ELFFile, sections: Mapping[str, Section], name: str, shared_by_all: list[bytes | str | int]) -> KernelFacts:
    own = list(_attributes(sections[f".nv.info.{name}"]))
    by_symbol = _symbol_attributes(sections, name)
    registers, frame = by_symbol.get(REGISTERS, 0), by_symbol.get(FRAME, 0)
    threads = next((attribute for attribute in own if attribute.code == MAX_THREADS), None)
    parts = [*_kernel_parts(sections, name, own), registers, frame, *shared_by_all]
    return KernelFacts(
        name=name,
        registers=registers,
        static_shared=_static_shared(image, sections, name),
        spill_bytes=0,
        local_bytes=frame,
        code_bytes=sections[f".text.{name}"]["sh_size"],
        max_block=threads.word(0) * threads.word(1) * threads.word(2) if threads else 1024,
        parameters=_parameters(own),
        hash=digest(parts),
    )


def _attributes(section: Section) -> Iterator[Attribute]:
    data, place = section.data(), 0
    while place + 4 <= len(data):
        length = int.from_bytes(data[place + 2 : place + 4], "little") if data[place] == SIZED else 0
        start = place + 4 if data[place] == SIZED else place + 2
        end = start + length if data[place] == SIZED else start + 2
        yield Attribute(data[place + 1], data[start:end])
        place = end


def _symbol_attributes(sections: Mapping[str, Section], name: str) -> dict[int, int]:
    """The module's attributes (symbol index, value) that are about this kernel."""
    table = sections[".symtab"]
    assert isinstance(table, SymbolTableSection)
    found = (attribute for attribute in _attributes(sections[".nv.info"]) if len(attribute.value) == 8)
    return {attribute.code: attribute.word(1) for attribute in found if table.get_symbol(attribute.word(0)).name == name}


def _parameters(own: list[Attribute]) -> tuple[int, ...]:
    """Sizes by ordinal: the 14 bits from bit 18 of the third word."""
    sizes = {attribute.word(1) & 0xFFFF: attribute.word(2) >> 18 & 0x3FFF for attribute in own if attribute.code == PARAMETER}
    return tuple(sizes[ordinal] for ordinal in sorted(sizes))


def _static_shared(image: ELFFile, sections: Mapping[str, Section], name: str) -> int:
    section = sections.get(f".nv.shared.{name}")
    if section is None:
        return 0
    reserved = RESERVED_SHARED if ".nv.shared.reserved.0" in sections else 0
    return max(int(section["sh_size"]) - reserved, 0)


def _kernel_parts(sections: Mapping[str, Section], name: str, own: list[Attribute]) -> Iterator[bytes | str | int]:
    """The kernel's own bytes; symbol indices move with unrelated code and are left out."""
    for attribute in own:
        yield attribute.code
        yield attribute.value[4:] if attribute.code == PARAMETER_BANK else attribute.value
    for title, section in sorted(sections.items()):
        if re.fullmatch(rf"\.(text|nv\.constant\d+|nv\.shared|nv\.local)\.{re.escape(name)}", title):
            yield from _content(sections, title.removesuffix(name), section)


def _module_parts(sections: Mapping[str, Section], kernels: list[str]) -> Iterator[bytes | str | int]:
    """What any kernel of the module may reach: device functions, constants, initialised and plain globals."""
    for title, section in sorted(sections.items()):
        owner = title.split(".", 2)[-1] if title.startswith(".text.") else title.split(".", 3)[-1]
        if re.match(r"\.(text|nv\.constant\d+|nv\.global)", title) and owner not in kernels:
            yield from _content(sections, title, section)
    table = sections[".symtab"]
    assert isinstance(table, SymbolTableSection)
    for symbol in table.iter_symbols():
        if symbol["st_info"]["type"] == "STT_OBJECT" and symbol["st_shndx"] != "SHN_UNDEF":
            yield from (symbol.name, symbol["st_value"], symbol["st_size"])


def _content(sections: Mapping[str, Section], title: str, section: Section) -> Iterator[bytes | str | int]:
    yield from (title, section["sh_size"], section["sh_flags"], b"" if section["sh_type"] == "SHT_NOBITS" else section.data())
    for prefix in (".rel", ".rela"):
        relocations = sections.get(prefix + section.name)
        if isinstance(relocations, RelocationSection):
            yield from _relocations(sections, relocations)


def _relocations(sections: Mapping[str, Section], relocations: RelocationSection) -> Iterator[bytes | str | int]:
    table = sections[".symtab"]
    assert isinstance(table, SymbolTableSection)
    for entry in relocations.iter_relocations():
        addend = entry["r_addend"] if relocations.is_RELA() else 0
        yield from (entry["r_offset"], entry["r_info_type"], table.get_symbol(entry["r_info_sym"]).name, addend)
