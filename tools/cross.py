#!/usr/bin/env python3
"""Compile and link all of the C for every platform, by one cross compiler from PyPI (zig).

    tools/cross.py [--run] [--out FOLDER] [PLATFORM ...]

Every file with all warnings as errors, so every static assertion on a size or an offset holds on that
platform too; then the mock runtime, the API layer and the Python binding are linked. 32-bit Windows has to be
refused by its name. `--run` also runs the host core's own C tests where this machine can: on Linux itself,
on Windows x86-64 by Wine, on Linux Arm64 by QEMU. Needs the dependency group "cross".
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parent.parent
HOST = Path("openxr_agentic", "host")
NATIVE = Path("openxr_agentic", "_native")
TESTS = Path("tests", "native")
KHRONOS_HEADERS = Path("/usr/include/openxr")
STABLE_ABI = (3, 10)

STRICT = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wpedantic", "-Wshadow")
DEFINES = ("-D_GNU_SOURCE", "-DOXA_EXTENSION_SUFFIX=METAX1")
OWN_DECLARATIONS = "-DOXA_USE_OWN_OPENXR_DECLARATIONS"
LIBRARIES = {"runtime": "libopenxr_agentic_mock", "layer": "libopenxr_agentic_layer"}
FRONTS = tuple(LIBRARIES)

# What Python's own pyconfig.h for the platform says, as far as the limited API's headers ask for it.
PYCONFIG = {
    "windows": """
        #define MS_WIN32 1
        #define MS_WIN64 1
        #define MS_WINDOWS 1
        #define HAVE_DECLSPEC_DLL 1
        #define Py_ENABLE_SHARED 1
        #define SIZEOF_SHORT 2
        #define SIZEOF_INT 4
        #define SIZEOF_LONG 4
        #define SIZEOF_LONG_LONG 8
        #define SIZEOF_VOID_P 8
        #define SIZEOF_SIZE_T 8
        #define SIZEOF_WCHAR_T 2
        """,
    "macos": """
        #define SIZEOF_SHORT 2
        #define SIZEOF_INT 4
        #define SIZEOF_LONG 8
        #define SIZEOF_LONG_LONG 8
        #define SIZEOF_VOID_P 8
        #define SIZEOF_SIZE_T 8
        #define SIZEOF_WCHAR_T 4
        #define HAVE_SSIZE_T 1
        """,
}

# pyopenxr's own copy of the Khronos loader, where it can be run here.
LOADERS = {
    "windows-x86_64": "windows_x86_64/openxr_loader.dll",
    "linux-x86_64": "linux_x86_64/libopenxr_loader.so",
}

# The C tests that run without POSIX, and with it; the former on every platform.
UNITS = ("host_tools_unit", "host_metadata_unit", "host_queue_unit", "host_destroy_unit", "layer_unit")
POSIX_UNITS = ("host_channel_unit",)
UNIT_SECONDS = 300


class Platform(NamedTuple):
    """What is compiled for.

    Attributes:
        name: As in docs/platforms.md.
        triple: As zig names it, with the oldest C library that is meant to work.
        system: windows, macos or linux.
        machine: As dlltool names it; for Windows only.
        emulator: Programs that run its executables here, the first that is found; None: nothing does.
    """

    name: str
    triple: str
    system: str
    machine: str = ""
    emulator: tuple[str, ...] | None = None


PLATFORMS = (
    Platform("windows-x86_64", "x86_64-windows-gnu", "windows", "i386:x86-64", ("/usr/lib/wine/wine64", "wine64")),
    Platform("windows-arm64", "aarch64-windows-gnu", "windows", "arm64"),
    Platform("macos-arm64", "aarch64-macos.11.0", "macos"),
    Platform("linux-x86_64", "x86_64-linux-gnu.2.17", "linux"),
    Platform("linux-arm64", "aarch64-linux-gnu.2.17", "linux"),
    # Android's C library cannot be had here; of those that can, musl is nearest to it.
    Platform("linux-x86_64-musl", "x86_64-linux-musl", "linux"),
    Platform("linux-arm64-musl", "aarch64-linux-musl", "linux", "", ("qemu-aarch64",)),
)
REFUSED = Platform("windows-x86", "x86-windows-gnu", "windows")
REFUSAL = "32-bit Windows is not supported"


class CrossError(Exception):
    """A platform for which something does not compile, link or run."""


def run(command: Sequence[str | Path], **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command, and keep what it says."""
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [str(part) for part in command], check=False, capture_output=True, text=True, cwd=ROOT, **options
    )


def checked(what: str, command: Sequence[str | Path], **options: object) -> str:
    """Run a command that must succeed without a word on stderr."""
    done = run(command, **options)
    if done.returncode != 0 or done.stderr.strip():
        raise CrossError(f"{what}:\n{done.stderr or done.stdout}")
    return done.stdout


def zig(*arguments: str | Path) -> list[str | Path]:
    """A command of the compiler."""
    return [sys.executable, "-m", "ziglang", *arguments]


def host_sources(front: str | None) -> list[Path]:
    """The C files of the host core, with those of one front."""
    others = tuple(name for name in FRONTS if name != front)
    return sorted(
        path.relative_to(ROOT) for path in (ROOT / HOST).glob("*.c") if not path.name.startswith(others or ("",))
    )


def python_headers(target: Platform, folder: Path) -> Path:
    """Return a folder with Python's headers, as they are on the target.

    This machine's own, since they are the same on every platform but for the
    generated pyconfig.h, of which the limited API needs little.
    """
    own = Path(sysconfig.get_path("include"))
    if target.system == "linux":
        return own
    copy = folder / "python"
    shutil.copytree(own, copy, ignore=shutil.ignore_patterns("internal", "pyconfig*.h"))
    (copy / "pyconfig.h").write_text(PYCONFIG[target.system], encoding="utf-8")
    return copy


def generate_binding(folder: Path) -> Path:
    """Have cffi write the binding's C file."""
    import contextlib
    import io

    path = folder / "_binding.c"
    with contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(str(ROOT / NATIVE / "build.py"))["make_ffi"]().emit_c_code(str(path))
    return path


def stable_abi_definitions() -> str:
    """Return what python3.dll of the oldest supported Python exports, for dlltool."""
    from abi3info import DATAS, FUNCTIONS

    def names(symbols: dict[object, object]) -> list[str]:
        return sorted(
            item.symbol.name  # type: ignore[attr-defined]
            for item in symbols.values()
            if (item.added.major, item.added.minor) <= STABLE_ABI  # type: ignore[attr-defined]
        )

    lines = ["LIBRARY python3.dll", "EXPORTS", *names(FUNCTIONS), *(f"{name} DATA" for name in names(DATAS))]
    return "\n".join(lines) + "\n"


class Build:
    """The work for one platform, in a folder of its own."""

    def __init__(self, target: Platform, folder: Path, pool: ThreadPoolExecutor) -> None:
        self.target = target
        self.folder = folder
        self.pool = pool
        self.suffix = {"windows": ".dll", "macos": ".dylib", "linux": ".so"}[target.system]
        folder.mkdir(parents=True, exist_ok=True)

    def command(self, *arguments: str | Path) -> list[str | Path]:
        """The compiler for the target, with all warnings."""
        position = () if self.target.system == "windows" else ("-fPIC", "-fvisibility=hidden")
        return zig("cc", "-target", self.target.triple, *STRICT, *DEFINES, *position, "-Inative_headers", *arguments)

    def compile(self, sources: list[Path], *flags: str | Path) -> list[Path]:
        """Compile files side by side; return their objects."""
        objects = [self.folder / f"{source.stem}.o" for source in sources]
        jobs = [
            self.pool.submit(
                checked, f"{self.target.name}: {source}", self.command(*flags, "-c", source, "-o", compiled)
            )
            for source, compiled in zip(sources, objects, strict=True)
        ]
        for job in jobs:
            job.result()
        return objects

    def host_libraries(self) -> list[Path]:
        """Both fronts' libraries."""
        compiled = {path.stem: path for path in self.compile(sorted((ROOT / HOST).glob("*.c")), OWN_DECLARATIONS)}
        # Against Khronos' header too, where it is installed: the libraries are the same.
        if KHRONOS_HEADERS.is_dir():
            khronos = self.folder / "khronos"
            khronos.mkdir(exist_ok=True)
            shutil.copytree(KHRONOS_HEADERS, khronos / "openxr", dirs_exist_ok=True)
            again = Build(self.target, self.folder / "against_khronos", self.pool)
            again.compile(sorted((ROOT / HOST).glob("*.c")), "-isystem", khronos)
        return [
            self.link(LIBRARIES[front] + self.suffix, [compiled[path.stem] for path in host_sources(front)])
            for front in FRONTS
        ]

    def binding(self) -> Path:
        """The Python module."""
        flags = (
            OWN_DECLARATIONS,
            f"-I{NATIVE}",
            "-DPy_LIMITED_API=0x030A0000",
            "-isystem",
            python_headers(self.target, self.folder),
        )
        sources = [generate_binding(self.folder), ROOT / NATIVE / "exchange.c", ROOT / NATIVE / "trampoline.c"]
        objects = self.compile(sources, *flags)
        if self.target.system == "windows":
            definitions = self.folder / "python3.def"
            definitions.write_text(stable_abi_definitions(), encoding="utf-8")
            library = self.folder / "libpython3.a"
            checked("dlltool", zig("dlltool", "-m", self.target.machine, "-d", definitions, "-l", library))
            return self.link("_binding.pyd", [*objects, library])
        unresolved = "-Wl,-undefined,dynamic_lookup" if self.target.system == "macos" else "-Wl,-z,undefs"
        return self.link("_binding.abi3.so", objects, unresolved)

    def link(self, name: str, objects: list[Path], *flags: str) -> Path:
        """Link a shared library. What is undefined and not said to be so is an error."""
        path = self.folder / name
        if self.target.system == "linux":
            flags = (*(flags or ("-Wl,-z,defs",)), "-Wl,-z,nodelete", "-lpthread")
        command = zig("cc", "-target", self.target.triple, "-shared", *objects, *flags, "-o", path)
        checked(f"{self.target.name}: {name}", command)
        return path

    def runner(self) -> list[str] | None:
        """What starts the target's programs here; None: nothing does."""
        if self.target.emulator is None:
            own = {"x86_64": "x86_64", "aarch64": "arm64"}.get(platform.machine())
            return [] if sys.platform == "linux" and self.target.name.startswith(f"linux-{own}") else None
        found = [path for path in map(shutil.which, self.target.emulator) if path]
        return found[:1] or None

    def run_units(self) -> str:
        """Run the C tests; return what was run, or why nothing was."""
        runner = self.runner()
        if runner is None:
            return f"not run: {' or '.join(self.target.emulator or ())} not here" if self.target.emulator else "not run"
        units = UNITS if self.target.system == "windows" else (*UNITS, *POSIX_UNITS)
        with tempfile.TemporaryDirectory(prefix="oxa-") as private:
            environment = {
                name: value for name, value in os.environ.items() if not name.startswith(("OPENXR", "XR_", "XDG"))
            }
            environment |= {"XDG_RUNTIME_DIR": private, "WINEPREFIX": f"{private}/wine", "WINEDEBUG": "-all"}
            for unit in units:
                program = self.unit(unit)
                done = run([*runner, program], env=environment, timeout=UNIT_SECONDS)
                if done.returncode != 0:
                    raise CrossError(f"{self.target.name}: {unit} ended with {done.returncode}:\n{done.stderr}")
            loaded = self.run_loader(runner, environment)
        return f"{len(units)} C tests ran{loaded}" + (f" ({Path(runner[0]).name})" if runner else "")

    def run_loader(self, runner: list[str], environment: dict[str, str]) -> str:
        """Have an app go through the Khronos loader to the libraries, by their manifests; say so if it did."""
        pyopenxr = importlib.util.find_spec("xr")
        if pyopenxr is None or pyopenxr.origin is None or self.target.name not in LOADERS:
            return ""
        loader = Path(pyopenxr.origin).parent / "library" / LOADERS[self.target.name]
        program = self.program("loader_probe", [], *(("-ldl",) if self.target.system == "linux" else ()))
        manifests = runpy.run_path(str(ROOT / HOST / "manifests.py"))
        runtime, layer = (self.folder / (LIBRARIES[front] + self.suffix) for front in FRONTS)
        layers = self.folder / "api_layers"
        layers.mkdir(exist_ok=True)
        (self.folder / "runtime.json").write_text(manifests["runtime_manifest"](runtime.name), encoding="utf-8")
        (layers / "layer.json").write_text(manifests["layer_manifest"](layer.name), encoding="utf-8")
        alone = {"XR_RUNTIME_JSON": str(self.folder / "runtime.json")}
        over = {
            "OPENXR_AGENTIC_MOCK_EXTENSION": "0",
            "XR_API_LAYER_PATH": str(layers),
            "XR_ENABLE_API_LAYERS": manifests["LAYER_NAME"],
        }
        if self.target.system == "windows":
            # Programs are elevated in Wine, and the loader ignores the two variables then: it asks the registry.
            key = "HKLM\\SOFTWARE\\Khronos\\OpenXR\\1"
            entries = (
                [key, "/v", "ActiveRuntime", "/d", self.seen(self.folder / "runtime.json")],
                [f"{key}\\ApiLayers\\Explicit", "/v", self.seen(layers / "layer.json"), "/t", "REG_DWORD", "/d", "0"],
            )
            for entry in entries:
                done = run([*runner, "reg", "add", *entry, "/f"], env=environment, timeout=UNIT_SECONDS)
                if done.returncode != 0:
                    raise CrossError(f"{self.target.name}: reg add {entry}:\n{done.stderr}{done.stdout}")
        for host, variables in ((runtime, alone), (layer, alone | over)):
            command: list[str | Path] = [*runner, program, self.seen(loader), self.seen(host)]
            done = run(command, env=environment | variables, timeout=UNIT_SECONDS)
            if done.returncode != 0 or "echo answered" not in done.stdout:
                raise CrossError(f"{self.target.name}: {host.name} through the loader:\n{done.stderr}{done.stdout}")
        return ", and both hosts through the OpenXR loader"

    def seen(self, path: Path) -> str:
        """A path as the target's programs see it: Wine has this machine's files on drive Z."""
        return "Z:" + str(path).replace("/", "\\") if self.target.system == "windows" else str(path)

    def unit(self, name: str) -> Path:
        """Link one of the C tests, which have the host core in them."""
        return self.program(name, host_sources("layer" if name == "layer_unit" else None))

    def program(self, name: str, sources: list[Path], *libraries: str) -> Path:
        """Link one of the C tests as a program."""
        program = self.folder / (name + (".exe" if self.target.system == "windows" else ""))
        libraries += () if self.target.system == "windows" else ("-lpthread",)
        # Static where the emulator has no system of the target's around it.
        libraries += ("-static",) if self.target.triple.endswith("musl") else ()
        patience = "-DOXA_DESTROY_PATIENCE_NS=200000000"
        flags: tuple[str | Path, ...] = (
            OWN_DECLARATIONS,
            patience,
            f"-I{HOST}",
            TESTS / f"{name}.c",
            *sources,
            *libraries,
            "-o",
            program,
        )
        checked(f"{self.target.name}: {name}", self.command(*flags))
        return program


def check_refusal(folder: Path) -> None:
    """32-bit Windows: every front must be refused, with the reason."""
    source = HOST / "platform.c"
    command = zig("cc", "-target", REFUSED.triple, *STRICT, *DEFINES, OWN_DECLARATIONS, "-Inative_headers")
    done = run([*command, "-c", source, "-o", folder / "refused.o"])
    if done.returncode == 0 or REFUSAL not in done.stderr:
        raise CrossError(f"{REFUSED.name} is not refused by name:\n{done.stderr}")


def main(arguments: list[str]) -> int:
    """Do all that was asked for; one line for each platform."""
    names = [target.name for target in PLATFORMS]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("platforms", nargs="*", metavar="PLATFORM", help=f"of: {', '.join(names)}")
    parser.add_argument("--run", action="store_true", help="also run the host core's C tests where this machine can")
    parser.add_argument("--out", type=Path, help="keep the libraries in this folder, one folder for each platform")
    options = parser.parse_args(arguments)
    unknown = set(options.platforms) - set(names)
    if unknown:
        parser.error(f"no such platform: {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    if run(zig("version")).returncode != 0:
        print("The cross compiler is missing: python -m pip install --group cross", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="openxr-agentic-cross-") as temporary:
        folder = options.out.resolve() if options.out else Path(temporary)
        try:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                for target in PLATFORMS:
                    if options.platforms and target.name not in options.platforms:
                        continue
                    build = Build(target, folder / target.name, pool)
                    libraries = [*build.host_libraries(), build.binding()]
                    said = f"; {build.run_units()}" if options.run else ""
                    print(f"{target.name}: {', '.join(path.name for path in libraries)}{said}", flush=True)
            check_refusal(folder)
        except CrossError as error:
            print(error, file=sys.stderr)
            return 1
    print(f"{REFUSED.name}: refused by name")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
