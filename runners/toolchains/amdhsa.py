"""AMD's code object: resources and parameters from the metadata note, code and constants from its sections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgpack
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, Section, Symbol, SymbolTableSection

from runners.toolchains.elf import KernelFacts, digest

METADATA_NOTE = 32
ENTRY_OFFSET = slice(16, 24)  # of a kernel descriptor: the distance to the code, which moves with other kernels
RSRC1, PROPERTIES = slice(48, 52), slice(56, 58)  # of a descriptor: the low six bits count register blocks; bit 10 says wave32
VGPR_BYTES = 4


def facts(image: ELFFile) -> Iterator[KernelFacts]:
    """Every kernel the metadata names."""
    entries = _metadata(image)["amdhsa.kernels"]
    symbols = _symbols(image)
    names = {entry[".name"] for entry in entries}
    for entry in entries:
        yield _kernel(image, symbols, entry, names)


def _metadata(image: ELFFile) -> Mapping[str, Any]:
    for section in image.iter_sections():
        if isinstance(section, NoteSection):
            for note in section.iter_notes():
                if note["n_name"] == "AMDGPU" and note["n_type"] in (METADATA_NOTE, "NT_AMDGPU_METADATA"):
                    unpacked: Mapping[str, Any] = msgpack.unpackb(note["n_descdata"], strict_map_key=False)
                    return unpacked
    raise ValueError("it has no metadata note")


def _symbols(image: ELFFile) -> dict[str, Symbol]:
    table = image.get_section_by_name(".symtab") or image.get_section_by_name(".dynsym")
    if not isinstance(table, SymbolTableSection):
        raise ValueError("it has no symbols")
    return {symbol.name: symbol for symbol in table.iter_symbols() if symbol["st_size"]}


def _kernel(image: ELFFile, symbols: Mapping[str, Symbol], entry: Mapping[str, Any], names: set[str]) -> KernelFacts:
    name = entry[".name"]
    arguments = [argument for argument in entry.get(".args", []) if not argument[".value_kind"].startswith("hidden_")]
    ordered = sorted(arguments, key=lambda argument: argument[".offset"])
    return KernelFacts(
        name=name,
        registers=entry[".vgpr_count"] + entry.get(".agpr_count", 0),
        static_shared=entry[".group_segment_fixed_size"],
        spill_bytes=entry.get(".vgpr_spill_count", 0) * VGPR_BYTES,
        local_bytes=entry[".private_segment_fixed_size"],
        code_bytes=symbols[name]["st_size"],
        max_block=entry[".max_flat_workgroup_size"],
        parameters=tuple(argument[".size"] for argument in ordered),
        hash=digest([*_own_parts(image, symbols, name, entry), *_module_parts(image, symbols, name, names)]),
        allocated=_allocated(_bytes(image, symbols[f"{name}.kd"]), entry[".vgpr_count"]),
    )


def _allocated(descriptor: bytes, used: int) -> int:
    """Registers a wave takes by its descriptor, which clang raises to hold a wave bound, where these are more than `used`; else 0."""
    blocks = (int.from_bytes(descriptor[RSRC1], "little") & 0x3F) + 1
    wave32 = int.from_bytes(descriptor[PROPERTIES], "little") >> 10 & 1
    granule = 8 if wave32 else 4
    return blocks * granule if blocks * granule >= used + granule else 0


def _own_parts(image: ELFFile, symbols: Mapping[str, Symbol], name: str, entry: Mapping[str, Any]) -> Iterator[bytes | str | int]:
    yield _bytes(image, symbols[name])
    descriptor = bytearray(_bytes(image, symbols[f"{name}.kd"]))
    descriptor[ENTRY_OFFSET] = bytes(8)
    yield bytes(descriptor)
    for key in sorted(entry):
        if key not in (".name", ".symbol", ".args"):
            yield from (key, repr(entry[key]))
    for argument in entry.get(".args", []):
        yield repr(sorted((key, value) for key, value in argument.items() if key not in (".name", ".type_name")))


def _module_parts(image: ELFFile, symbols: Mapping[str, Symbol], kernel: str, kernels: set[str]) -> Iterator[bytes | str | int]:
    """Functions and data that code may reach, each at its distance from the kernel, as code refers to it."""
    home = symbols[kernel]["st_value"]
    for symbol in sorted(symbols.values(), key=lambda found: int(found["st_value"])):
        if symbol["st_info"]["type"] == "STT_FUNC" and symbol.name not in kernels:
            yield from (symbol["st_value"] - home, symbol["st_size"], _bytes(image, symbol))
    descriptors = [symbols[f"{name}.kd"] for name in kernels]
    for section in image.iter_sections():
        if section.name.startswith((".rodata", ".data", ".bss")) and (data := _without(section, descriptors)):
            yield from (section.name, section["sh_addr"] - home, data)


def _without(section: Section, descriptors: list[Symbol]) -> bytes:
    """A data section's bytes less the kernel descriptors (private constants have no symbol to be found by)."""
    data = bytearray(b"" if section["sh_type"] == "SHT_NOBITS" else section.data())
    for symbol in sorted(descriptors, key=lambda found: -int(found["st_value"])):
        start = symbol["st_value"] - section["sh_addr"]
        if 0 <= start < len(data):
            del data[start : start + symbol["st_size"]]
    return bytes(data) if any(data) else b""


def _bytes(image: ELFFile, symbol: Symbol) -> bytes:
    section: Section = image.get_section(symbol["st_shndx"])
    if section["sh_type"] == "SHT_NOBITS":
        return b""
    start = symbol["st_value"] - section["sh_addr"]
    return bytes(section.data()[start : start + symbol["st_size"]])
