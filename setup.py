"""Native builds only; everything else about the package is in pyproject.toml.

The binding (the app's side; a cffi module on the stable ABI), and the host's side
twice, as plain shared libraries without any Python: behind a mock runtime, and
behind an API layer.
"""

import runpy
import sys
import sysconfig
from functools import partial
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
BUILD = "openxr_agentic/_native/build.py"
HOST = Path("openxr_agentic", "host")
SHARED_LIBRARY_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")

if sysconfig.get_config_var("Py_GIL_DISABLED"):
    raise SystemExit(
        "openxr-agentic does not support free-threaded Python builds yet: its native part is built on the "
        "stable ABI, which they do not have. Use an ordinary build of Python 3.10 or newer."
    )

if sys.maxsize < 2**32:
    raise SystemExit("openxr-agentic needs a 64-bit Python; this one is 32-bit.")

native = runpy.run_path(BUILD)
manifests = runpy.run_path(str(HOST / "manifests.py"))

# Each front's library, with its manifest's file and maker. All other C files are of both.
FRONTS = {
    "runtime": ("libopenxr_agentic_mock", "openxr_agentic_mock.json", manifests["runtime_manifest"]),
    # In a folder of its own: the loader takes every JSON file beside a layer's manifest for another one.
    "layer": (
        "libopenxr_agentic_layer",
        "api_layers/openxr_agentic_layer.json",
        partial(manifests["layer_manifest"], suffix=native["name_suffix"]()),
    ),
}


def is_host_library(name: str) -> bool:
    """Whether a module's name, with its package or without, is that of a plain library."""
    return name.rpartition(".")[2] in {library for library, _, _ in FRONTS.values()}


def host_library(front: str) -> Extension:
    """The host core behind one of its fronts."""
    options = native["compile_options"]()
    if sys.platform == "linux":
        # The loader unmaps a runtime at xrDestroyInstance, and native threads may
        # still be returning through it. Elsewhere oxa_stay_loaded sees to that.
        options["extra_link_args"] += ["-Wl,-z,nodelete", "-Wl,-z,defs", "-lpthread"]
    others = tuple(other for other in FRONTS if other != front)
    return Extension(
        f"openxr_agentic.host.{FRONTS[front][0]}",
        sources=sorted(path.as_posix() for path in HOST.glob("*.c") if not path.name.startswith(others)),
        depends=sorted(path.as_posix() for path in (*HOST.glob("*.h"), *Path("native_headers").rglob("*.h"))),
        **options,
    )


def write_manifests(folder: Path) -> None:
    """Put the libraries' manifests beside or below them."""
    for library, manifest, make in FRONTS.values():
        (folder / manifest).parent.mkdir(exist_ok=True)
        (folder / manifest).write_text(make(library + SHARED_LIBRARY_SUFFIX), encoding="utf-8")


class BuildNative(build_ext):
    """Gives the host's libraries plain names, and their manifests."""

    def get_ext_filename(self, fullname: str) -> str:
        if is_host_library(fullname):
            return str(Path(*fullname.split(".")).with_suffix(SHARED_LIBRARY_SUFFIX))
        return super().get_ext_filename(fullname)

    def get_export_symbols(self, ext: Extension) -> list[str]:
        return [] if is_host_library(ext.name) else super().get_export_symbols(ext)

    def get_libraries(self, ext: Extension) -> list[str]:
        return [] if is_host_library(ext.name) else super().get_libraries(ext)

    def build_extension(self, ext: Extension) -> None:
        super().build_extension(ext)
        if is_host_library(ext.name):
            write_manifests(Path(self.get_ext_fullpath(ext.name)).parent)

    def copy_extensions_to_source(self) -> None:
        super().copy_extensions_to_source()
        write_manifests(ROOT / HOST)

    def get_outputs(self) -> list[str]:
        written = [str(Path(self.build_lib, HOST, manifest)) for _, manifest, _ in FRONTS.values()]
        return [*super().get_outputs(), *written]


class StableAbiWheel(bdist_wheel):
    """One wheel for every Python from 3.10 on."""

    def finalize_options(self) -> None:
        self.py_limited_api = "cp310"
        super().finalize_options()


setup(
    cffi_modules=[f"{BUILD}:ffibuilder"],
    ext_modules=[host_library(front) for front in FRONTS],
    cmdclass={"build_ext": BuildNative, "bdist_wheel": StableAbiWheel},
)
