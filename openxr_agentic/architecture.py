"""For which processor a native library is built, read from its header.

What the system's own loader says of a library for another processor names
neither of the two. ELF, Mach-O and PE are read, on every system: only a few
fields at fixed places, and nothing is executed.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from openxr_agentic.plain_files import read_start

if TYPE_CHECKING:
    import os

_ELF = {0x03: "x86 (32-bit)", 0x28: "arm (32-bit)", 0x3E: "x86_64", 0xB7: "aarch64", 0xF3: "riscv64"}
_MACH_O = {7: "x86 (32-bit)", 12: "arm (32-bit)", 0x01000007: "x86_64", 0x0100000C: "aarch64"}
_PE = {0x014C: "x86 (32-bit)", 0x01C4: "arm (32-bit)", 0x8664: "x86_64", 0xAA64: "aarch64"}
_OF_THIS_SYSTEM = {
    "x86_64": "x86_64",
    "amd64": "x86_64",
    "aarch64": "aarch64",
    "arm64": "aarch64",
    "i386": "x86 (32-bit)",
    "i686": "x86 (32-bit)",
    "x86": "x86 (32-bit)",
}
_32_BIT = {"x86_64": "x86 (32-bit)", "aarch64": "arm (32-bit)"}

_FAT_SLICE_BYTES = {0xCAFEBABE: 20, 0xCAFEBABF: 32}  # by the magic of a file for several processors
_HEAD_BYTES = 4096  # a PE header stands where the DOS stub ends, far below that
_MOST_SLICES = 32  # Java's class files have the magic of fat Mach-O, and a version where those have a small count


def of_this_python() -> str:
    """Return the processor that this Python is built for, as `of_library` names it."""
    import platform  # slow to import, and the loader's module is imported with every attach

    machine = platform.machine()
    name = _OF_THIS_SYSTEM.get(machine.lower(), machine)
    # A 32-bit Python on a 64-bit system.
    return name if sys.maxsize > 2**32 else _32_BIT.get(name, name)


def of_library(path: str | os.PathLike[str]) -> tuple[str, ...] | None:
    """Return the processors that a library is built for; several for a fat Mach-O file.

    Args:
        path: A file.

    Returns:
        Names as "x86_64" or "aarch64", or a description for a processor that this module does
        not know; None: the file cannot be read, or is no native library.
    """
    try:
        head = read_start(Path(path), _HEAD_BYTES)
    except (OSError, ValueError):
        return None
    try:
        return _elf(head) or _mach_o(head) or _pe(head)
    except struct.error:  # cut short
        return None


def mismatch(path: str | os.PathLike[str]) -> str | None:
    """Say so when a library is for another processor than this Python; None where it is not, or not known."""
    found = of_library(path)
    needed = of_this_python()
    if found is None or needed in found:
        return None
    return f"it is built for {' and '.join(found)}, and this Python needs {needed}"


def _elf(head: bytes) -> tuple[str, ...] | None:
    if head[:4] != b"\x7fELF":
        return None
    order = "<" if head[5:6] == b"\x01" else ">"
    (machine,) = struct.unpack_from(f"{order}H", head, 18)
    return (_ELF.get(machine, f"ELF machine {machine}"),)


def _mach_o(head: bytes) -> tuple[str, ...] | None:
    (magic,) = struct.unpack_from("<I", head)
    if magic in (0xFEEDFACE, 0xFEEDFACF):
        return (_mach_o_name(*struct.unpack_from("<I", head, 4)),)
    (magic,) = struct.unpack_from(">I", head)
    if magic in (0xFEEDFACE, 0xFEEDFACF):
        return (_mach_o_name(*struct.unpack_from(">I", head, 4)),)
    size = _FAT_SLICE_BYTES.get(magic)
    if size is None:
        return None
    (count,) = struct.unpack_from(">I", head, 4)
    if not 0 < count <= _MOST_SLICES:
        return None
    return tuple(_mach_o_name(*struct.unpack_from(">I", head, 8 + size * index)) for index in range(count))


def _mach_o_name(processor: int) -> str:
    return _MACH_O.get(processor, f"Mach-O processor {processor}")


def _pe(head: bytes) -> tuple[str, ...] | None:
    if head[:2] != b"MZ":
        return None
    (offset,) = struct.unpack_from("<I", head, 0x3C)
    if head[offset : offset + 4] != b"PE\0\0":
        return None
    (machine,) = struct.unpack_from("<H", head, offset + 4)
    return (_PE.get(machine, f"PE machine {machine:#x}"),)
