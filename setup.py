"""Native builds only; everything else about the package is in pyproject.toml.

Two libraries: the binding (the app's side; a cffi module on the stable ABI) and
the mock runtime (the host's side; a plain shared library without any Python).
"""

import runpy
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
BUILD = "openxr_agentic/_native/build.py"
HOST = Path("openxr_agentic", "host")
MOCK_NAME = "libopenxr_agentic_mock"
MOCK = f"openxr_agentic.host.{MOCK_NAME}"
MANIFEST = "openxr_agentic_mock.json"
SHARED_LIBRARY_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")

if sysconfig.get_config_var("Py_GIL_DISABLED"):
    raise SystemExit(
        "openxr-agentic does not support free-threaded Python builds yet: its native part is built on the "
        "stable ABI, which they do not have. Use an ordinary build of Python 3.10 or newer."
    )

native = runpy.run_path(BUILD)
manifests = runpy.run_path(str(HOST / "manifests.py"))


def mock_runtime() -> Extension:
    """The mock OpenXR runtime, from every C file of the host's side."""
    options = native["compile_options"]()
    if sys.platform == "linux":
        # The loader unmaps a runtime at xrDestroyInstance, and native threads may
        # still be returning through it.
        options["extra_link_args"] += ["-Wl,-z,nodelete", "-Wl,-z,defs", "-lpthread"]
    return Extension(
        MOCK,
        sources=sorted(path.as_posix() for path in HOST.glob("*.c")),
        depends=sorted(path.as_posix() for path in (*HOST.glob("*.h"), *Path("native_headers").rglob("*.h"))),
        **options,
    )


def write_manifest(folder: Path) -> None:
    """Put the mock runtime's manifest beside its library."""
    text = manifests["runtime_manifest"](MOCK_NAME + SHARED_LIBRARY_SUFFIX)
    (folder / MANIFEST).write_text(text, encoding="utf-8")


class BuildNative(build_ext):
    """Gives the mock runtime a plain library's name, and its manifest."""

    def get_ext_filename(self, fullname: str) -> str:
        if fullname.rpartition(".")[2] == MOCK_NAME:
            return str(Path(*fullname.split(".")).with_suffix(SHARED_LIBRARY_SUFFIX))
        return super().get_ext_filename(fullname)

    def get_export_symbols(self, ext: Extension) -> list[str]:
        return [] if ext.name == MOCK else super().get_export_symbols(ext)

    def get_libraries(self, ext: Extension) -> list[str]:
        return [] if ext.name == MOCK else super().get_libraries(ext)

    def build_extension(self, ext: Extension) -> None:
        super().build_extension(ext)
        if ext.name == MOCK:
            write_manifest(Path(self.get_ext_fullpath(ext.name)).parent)

    def copy_extensions_to_source(self) -> None:
        super().copy_extensions_to_source()
        write_manifest(ROOT / HOST)

    def get_outputs(self) -> list[str]:
        return [*super().get_outputs(), str(Path(self.build_lib, HOST, MANIFEST))]


class StableAbiWheel(bdist_wheel):
    """One wheel for every Python from 3.10 on."""

    def finalize_options(self) -> None:
        self.py_limited_api = "cp310"
        super().finalize_options()


setup(
    cffi_modules=[f"{BUILD}:ffibuilder"],
    ext_modules=[mock_runtime()],
    cmdclass={"build_ext": BuildNative, "bdist_wheel": StableAbiWheel},
)
