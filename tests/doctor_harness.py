"""What the doctor's tests share: an empty environment, manifests, and a host of secret numbers."""

import functools
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

import pytest

from openxr_agentic import loader
from openxr_agentic.doctor.findings import Severity
from openxr_agentic.host import manifests, variables

ROOT = Path(__file__).resolve().parents[1]
HEADER = Path("meta_openxr_preview", "metax1_agentic_external_tool.h")
CC = os.environ.get("CC", "cc")
EXTENSION = "XR_METAX1_agentic_external_tool"
PREFIX = "XR_AGENTIC_EXTERNAL_TOOL_"

SECRET = {
    "XR_TYPE_AGENTIC_EXTERNAL_TOOL_PARAMETER_METAX1": 1000613004,
    "XR_TYPE_AGENTIC_EXTERNAL_TOOL_REGISTER_INFO_METAX1": 1000613002,
    f"{PREFIX}PARAMETER_TYPE_STRING_METAX1": 21,
    f"{PREFIX}PARAMETER_TYPE_NUMBER_METAX1": 9,
    f"{PREFIX}PARAMETER_TYPE_BOOLEAN_METAX1": 17,
    f"{PREFIX}PARAMETER_TYPE_ARRAY_METAX1": 12,
    f"{PREFIX}PARAMETER_TYPE_OBJECT_METAX1": 5,
    f"{PREFIX}CALLBACK_INFO_APPLICATION_MAIN_THREAD_BIT_METAX1": 0x40,
}


def isolate(monkeypatch, folder):
    """Point everything that the loader and the doctor look at into an empty folder."""
    for name in [name for name in os.environ if name.startswith(("XR_", "OPENXR_AGENTIC_", "AGENTICXR_"))]:
        monkeypatch.delenv(name)
    for name in ("XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_HOME", "XDG_DATA_DIRS", "XDG_RUNTIME_DIR", "HOME"):
        place = folder / name.lower()
        place.mkdir()
        monkeypatch.setenv(name, str(place))
    for module in (loader, variables):
        monkeypatch.setattr(module, "SYSTEM_FOLDERS", (str(folder / "etc"),))
    return folder


def library(path, machine=None):
    """Write the beginning of an ELF library, by default for this processor, and return its path."""
    own = {"x86_64": 0x3E, "aarch64": 0xB7}.get(os.uname().machine, 0x3E)
    path.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 3, machine or own) + bytes(44))
    return path


def runtime_manifest(path, library_path, **body):
    """Write a runtime's manifest, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    runtime = {"name": "Test runtime", "library_path": str(library_path), **body}
    path.write_text(json.dumps({"file_format_version": "1.0.0", "runtime": runtime}), encoding="utf-8")
    return path


def layer_manifest(path, library_path, name="XR_APILAYER_TEST_one", extensions=(), **body):
    """Write an API layer's manifest, and return its path; a value of None takes a key away."""
    path.parent.mkdir(parents=True, exist_ok=True)
    layer = {
        "name": name,
        "library_path": str(library_path),
        "api_version": "1.0",
        "implementation_version": "1",
        "instance_extensions": [{"name": extension, "extension_version": "1"} for extension in extensions],
        **body,
    }
    layer = {key: value for key, value in layer.items() if value is not None}
    path.write_text(json.dumps({"file_format_version": "1.0.0", "api_layer": layer}), encoding="utf-8")
    return path


def all_of(*checks):
    """Everything that checks find; what is not as it should be says why that matters, and what to do."""
    found = [finding for check in checks for finding in check()]
    for finding in found:
        assert finding.what
        assert finding.severity is Severity.OK or (finding.why and finding.remedy), finding
    return found


def findings(*checks):
    """Everything that checks find, by id; the last one of each."""
    return {finding.id: finding for finding in all_of(*checks)}


def compiled_runtime(folder, code):
    """Build a runtime's library from C, and return its manifest."""
    source = folder / "runtime.c"
    source.write_text(code, encoding="utf-8")
    try:
        subprocess.run(
            [CC, "-shared", "-fPIC", source, "-o", folder / "libruntime.so"], check=True, capture_output=True
        )
    except OSError:
        pytest.skip("there is no C compiler")
    return runtime_manifest(folder / "runtime.json", folder / "libruntime.so")


def secret_header():
    """Our header with the secret numbers."""
    text = (ROOT / "native_headers" / HEADER).read_text(encoding="utf-8")
    for name, value in SECRET.items():
        text, replaced = re.subn(rf"(\b{name}\b[\s\\=(]*(?:\(?\w+\))?)(?:0x)?\d+", rf"\g<1>{value}", text, count=1)
        assert replaced == 1, name
    return text.replace('#include "../openxr_agentic/openxr_core.h"', "#include <openxr_agentic/openxr_core.h>")


@functools.cache
def _secret_folder():
    return tempfile.TemporaryDirectory(prefix="openxr-agentic-secret-")


@functools.cache
def secret_runtime():
    """Build the mock runtime with the secret numbers, and return its manifest."""
    if shutil.which(CC) is None:
        pytest.skip(f"there is no {CC}")
    folder = Path(_secret_folder().name)
    (folder / HEADER).parent.mkdir()
    (folder / HEADER).write_text(secret_header(), encoding="utf-8")
    host = ROOT / "openxr_agentic" / "host"
    sources = sorted(path for path in host.glob("*.c") if not path.name.startswith("layer"))
    flags = ["-std=c11", "-D_GNU_SOURCE=1", "-DOXA_EXTENSION_SUFFIX=METAX1", "-fvisibility=hidden", "-fPIC", "-shared"]
    include = [f"-I{folder}", f"-I{ROOT / 'native_headers'}"]
    command = [CC, *flags, *include, *sources, "-Wl,-z,nodelete", "-lpthread", "-o", folder / "libsecret.so"]
    built = subprocess.run(command, check=False, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    manifest = folder / "secret.json"
    manifest.write_text(manifests.runtime_manifest("libsecret.so"), encoding="utf-8")
    return manifest
