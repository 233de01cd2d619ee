"""How the app's side is compiled: cffi API mode, one abi3 module.

`setup.py` runs this file by its path, without importing the package, because
the package cannot be imported before it is built.
"""

import os
import re
import sys
from pathlib import Path

from cffi import FFI

ROOT = Path(__file__).resolve().parents[2]
HEADERS = ROOT / "native_headers"
EXTENSION_HEADER = Path("meta_openxr_preview", "metax1_agentic_external_tool.h")
INCLUDE_VARIABLE = "OPENXR_AGENTIC_INCLUDE_DIR"


def include_dirs() -> list[str]:
    """Folders of headers, the user's first: the first header found is the one in force."""
    given = [entry for entry in os.environ.get(INCLUDE_VARIABLE, "").split(os.pathsep) if entry]
    for entry in given:
        if not Path(entry).is_dir():
            raise SystemExit(f"{INCLUDE_VARIABLE} names {entry!r}, which is not a folder.")
    return [*given, str(HEADERS)]


def name_suffix() -> str:
    """The suffix of the names in the header that the compiler will find: METAX1 or META."""
    for folder in include_dirs():
        header = Path(folder) / EXTENSION_HEADER
        if header.is_file():
            text = header.read_text(encoding="utf-8", errors="replace")
            found = re.search(r"\bXrAgenticExternalToolRegisterInfo(METAX1|META)\b", text)
            if found is None:
                raise SystemExit(
                    f"{header} does not declare XrAgenticExternalToolRegisterInfoMETAX1 (nor ...META). "
                    f"Is it Meta's header for this extension? It was found through {INCLUDE_VARIABLE}."
                )
            return found.group(1)
    raise SystemExit(f"{EXTENSION_HEADER} is in none of: {', '.join(include_dirs())}")


def compile_options() -> dict[str, list[object]]:
    """What both native libraries (binding and mock runtime) are compiled with."""
    options: dict[str, list[object]] = {
        "include_dirs": list(include_dirs()),
        "define_macros": [("OXA_EXTENSION_SUFFIX", name_suffix())],
        "extra_compile_args": [],
        "extra_link_args": [],
    }
    if sys.platform == "win32":
        options["extra_compile_args"] = ["/std:c11", "/experimental:c11atomics"]  # Visual Studio 2022 17.5 or newer
    else:
        options["extra_compile_args"] = ["-std=c11", "-fvisibility=hidden"]
        options["define_macros"].append(("_GNU_SOURCE", "1"))
    return options


def make_ffi() -> FFI:
    """The binding's declarations and how it is compiled."""
    native = Path(__file__).resolve().parent
    options = compile_options()
    # The stable ABI of 3.10, for our C files as well as for the generated one.
    options["define_macros"].append(("Py_LIMITED_API", "0x030A0000"))
    sources = ("exchange.c", "trampoline.c")
    ffi = FFI()
    ffi.cdef((native / "cdef.h").read_text(encoding="utf-8"))
    ffi.set_source(
        "openxr_agentic._native._binding",
        """
        #include <openxr_agentic/metadata.h>
        #include "trampoline.h"
        static const char* const oxa_extension_name = OXA_EXTENSION_NAME;
        static const char* const oxa_register_function_name = OXA_REGISTER_FUNCTION_NAME;
        static const char* const oxa_metadata_function_name = OXA_METADATA_FUNCTION_NAME;
        /* The answer is kept where no interrupt between two bytecodes of the caller can lose it. */
        static void oxa_register(OxaRegisterTool function, XrInstance instance, const OxaToolRegisterInfo* info,
                                 XrResult* answer)
        {
            *answer = function(instance, info);
        }
        typedef PFN_oxaGetToolMetadataInterface OxaGetToolMetadataInterface;
        typedef PFN_xrGetInstanceProcAddr OxaGetInstanceProcAddr;
        typedef PFN_xrEnumerateInstanceExtensionProperties OxaEnumerateExtensions;
        typedef PFN_xrGetInstanceProperties OxaGetInstanceProperties;
        """,
        sources=[str((native / name).relative_to(ROOT)) for name in sources],
        depends=[str(path.relative_to(ROOT)) for path in (*native.glob("*.h"), *HEADERS.rglob("*.h"))],
        py_limited_api=True,
        **{**options, "include_dirs": [*options["include_dirs"], str(native)]},
    )
    return ffi


if __name__ == "__cffi__":  # how cffi's setuptools hook names it
    ffibuilder = make_ffi()
