"""From an address in a host code object to the source line, the kernel's own rather than the prelude's."""

from __future__ import annotations

import bisect
import posixpath
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile

from runners.emulator.library import Status, Stopped, Wait, Waiting

INSIDE = "/src/"
PRELUDE = "/prelude/"


@dataclass(frozen=True)
class Place:
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else "an unknown line"


class Lines:
    """The line table of one code object, with the calls that were inlined."""

    def __init__(self, path: Path) -> None:
        self._rows: list[tuple[int, Place]] = []
        self._inlined: list[tuple[int, int, Place]] = []
        with path.open("rb") as file:
            elf = ELFFile(file)
            if elf.has_dwarf_info():
                self._read(elf.get_dwarf_info())
        self._rows.sort(key=lambda row: row[0])
        self._starts = [start for start, _ in self._rows]

    def place(self, address: int) -> Place:
        """The line of the call that returns to `address`; in the prelude's code, the line that used the prelude."""
        address -= 1
        index = bisect.bisect_right(self._starts, address) - 1
        found = self._rows[index][1] if index >= 0 else Place("", 0)
        return self._outside_prelude(found, address)

    def _outside_prelude(self, found: Place, address: int) -> Place:
        if not found.file.startswith(PRELUDE):
            return found
        around = [(high - low, place) for low, high, place in self._inlined if low <= address < high]
        callers = [(size, place) for size, place in around if not place.file.startswith(PRELUDE)]
        return min(callers, key=lambda caller: caller[0])[1] if callers else found

    def _read(self, dwarf: Any) -> None:
        for unit in dwarf.iter_CUs():
            if unit.get_top_DIE().attributes["DW_AT_name"].value.startswith(b"/emulator/"):
                continue
            program = dwarf.line_program_for_CU(unit)
            files = _files(program) if program else []
            for entry in program.get_entries() if program else ():
                if entry.state is not None and entry.state.file < len(files):
                    line = 0 if entry.state.end_sequence else entry.state.line
                    self._rows.append((entry.state.address, Place(files[entry.state.file], line)))
            self._read_inlined(dwarf, unit, files)

    def _read_inlined(self, dwarf: Any, unit: Any, files: list[str]) -> None:
        for die in unit.iter_DIEs():
            if die.tag == "DW_TAG_inlined_subroutine" and "DW_AT_call_line" in die.attributes:
                place = Place(files[die.attributes["DW_AT_call_file"].value], die.attributes["DW_AT_call_line"].value)
                self._inlined += [(low, high, place) for low, high in _ranges(dwarf, unit, die)]


def describe_stop(path: Path, kernel: str, stopped: Stopped) -> str:
    """One sentence that names the lines where the threads of a dead-locked block wait."""
    lines = Lines(path)
    where = "; ".join(_waiting(lines, group) for group in stopped.waiting)
    what = "dead-lock" if stopped.status is Status.DEADLOCK else "a thread runs without end"
    return f"{kernel}: {what} in block {stopped.block}: {where}"


def first_place(path: Path, stopped: Stopped) -> Place:
    return Lines(path).place(stopped.waiting[0].site) if stopped.waiting else Place("", 0)


def _waiting(lines: Lines, group: Waiting) -> str:
    what = {Wait.BARRIER: "at the barrier of", Wait.WARP: "for their warp at", Wait.RUNNING: "for nobody and loops at"}[group.wait]
    threads = "1 thread waits" if group.threads == 1 else f"{group.threads} threads wait"
    return f"{threads} {what} {lines.place(group.site)} (first: {group.first_thread})"


def _files(program: Any) -> list[str]:
    """Paths by number; DWARF 5 counts from 0, with the compilation folder as folder 0."""
    header = program.header
    folders = [_str(folder) for folder in header["include_directory"]]
    names = [(entry["DW_LNCT_path"] if "DW_LNCT_path" in entry else entry["name"], entry) for entry in header["file_entry"]]
    paths = [_joined(folders, _str(name), entry, header["version"]) for name, entry in names]
    return paths if header["version"] >= 5 else ["", *paths]


def _joined(folders: list[str], name: str, entry: Any, version: int) -> str:
    number = entry["DW_LNCT_directory_index"] if "DW_LNCT_directory_index" in entry else entry["dir_index"]
    folder = folders[number] if version >= 5 else ["", *folders][number]
    path = posixpath.normpath(posixpath.join(INSIDE, folder, name))
    return path.removeprefix(INSIDE)


def _str(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _ranges(dwarf: Any, unit: Any, die: Any) -> list[tuple[int, int]]:
    if "DW_AT_low_pc" in die.attributes:
        low, high = die.attributes["DW_AT_low_pc"].value, die.attributes["DW_AT_high_pc"]
        return [(low, high.value if high.form == "DW_FORM_addr" else low + high.value)]
    if "DW_AT_ranges" not in die.attributes:
        return []
    base, found = unit.get_top_DIE().attributes.get("DW_AT_low_pc"), []
    start = base.value if base is not None else 0
    entries = dwarf.range_lists().get_range_list_at_offset(die.attributes["DW_AT_ranges"].value, unit)
    for entry in entries:
        if hasattr(entry, "base_address"):
            start = entry.base_address
        else:
            offset = 0 if getattr(entry, "is_absolute", False) else start
            found.append((entry.begin_offset + offset, entry.end_offset + offset))
    return found
