"""For which processor a native library is built."""

import os
import struct
import sys

import pytest

from openxr_agentic import architecture


def elf(machine, order="<", bits=2):
    return b"\x7fELF" + bytes([bits, 1 if order == "<" else 2, 1]) + bytes(9) + struct.pack(f"{order}HH", 3, machine)


def mach_o(processor, order="<"):
    return struct.pack(f"{order}II", 0xFEEDFACF, processor)


def fat_mach_o(*processors):
    slices = b"".join(struct.pack(">IIIII", processor, 0, 0, 0, 0) for processor in processors)
    return struct.pack(">II", 0xCAFEBABE, len(processors)) + slices


def pe(machine):
    return b"MZ" + bytes(0x3A) + struct.pack("<I", 0x80) + bytes(0x40) + b"PE\0\0" + struct.pack("<H", machine)


@pytest.mark.parametrize(
    ("head", "processors"),
    [
        (elf(0x3E), ("x86_64",)),
        (elf(0xB7), ("aarch64",)),
        (elf(0x03, bits=1), ("x86 (32-bit)",)),
        (elf(0x28, bits=1), ("arm (32-bit)",)),
        (elf(0x16, ">"), ("ELF machine 22",)),
        (mach_o(0x01000007), ("x86_64",)),
        (mach_o(0x0100000C), ("aarch64",)),
        (mach_o(18, ">"), ("Mach-O processor 18",)),
        (fat_mach_o(0x01000007, 0x0100000C), ("x86_64", "aarch64")),
        (pe(0x8664), ("x86_64",)),
        (pe(0xAA64), ("aarch64",)),
        (pe(0x014C), ("x86 (32-bit)",)),
    ],
)
def test_the_processor_is_read_from_elf_mach_o_and_pe(tmp_path, head, processors):
    file = tmp_path / "library"
    file.write_bytes(head)
    assert architecture.of_library(file) == processors


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x7fELF",
        b"MZ",
        b"#!/bin/sh\n" + bytes(100),
        elf(0x3E)[:-3],
        fat_mach_o(0x01000007)[:10],
        struct.pack(">II", 0xCAFEBABE, 65),  # a Java class file
        b"MZ" + bytes(0x3A) + struct.pack("<I", 2**31) + bytes(64),
    ],
)
def test_what_is_no_library_or_cut_short_has_no_processor(tmp_path, data):
    file = tmp_path / "library"
    file.write_bytes(data)
    assert architecture.of_library(file) is None
    assert architecture.mismatch(file) is None


def test_what_cannot_be_read_has_no_processor(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert architecture.of_library(tmp_path / "pipe") is None
    assert architecture.of_library(tmp_path) is None
    assert architecture.of_library(tmp_path / "missing") is None
    assert architecture.of_library("a\0b") is None


def test_a_library_for_another_processor_is_named_with_the_one_that_is_needed(tmp_path, monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "AMD64")
    file = tmp_path / "library"
    file.write_bytes(fat_mach_o(12, 0x0100000C))
    text = "it is built for arm (32-bit) and aarch64, and this Python needs x86_64"
    assert architecture.mismatch(file) == text
    file.write_bytes(fat_mach_o(12, 0x01000007))
    assert architecture.mismatch(file) is None


def test_a_32_bit_python_on_a_64_bit_system_needs_32_bit_libraries(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr(sys, "maxsize", 2**31 - 1)
    assert architecture.of_this_python() == "x86 (32-bit)"


def test_python_itself_is_for_the_processor_that_it_names():
    assert architecture.mismatch(sys.executable) is None
