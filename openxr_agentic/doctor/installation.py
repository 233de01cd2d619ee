"""Python, this package, its native part, pyopenxr, and the optional extras."""

from __future__ import annotations

import json
import os
import platform
import shlex
import subprocess
import sys
import sysconfig
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from openxr_agentic import __version__, architecture
from openxr_agentic.doctor.findings import Finding, hint, ok, problem, warning
from openxr_agentic.errors import AgenticError, NativeBuildMissingError

if TYPE_CHECKING:
    from collections.abc import Iterator

LOWEST_PYTHON = (3, 10)
_EXTRAS = {
    "mcp": (("mcp", "uvicorn"), "the commands run, serve and demo"),
    "cli": (("click", "rich"), "the command line"),
}
_CHILD_SECONDS = 60.0


def check_python() -> Iterator[Finding]:
    """Look at the interpreter."""
    text = f"{platform.python_implementation()} {platform.python_version()} for {architecture.of_this_python()}"
    text += f" on {platform.system()}: {sys.executable}"
    if sys.version_info < LOWEST_PYTHON:
        yield problem(
            "installation.python-version",
            text,
            "openxr-agentic needs Python 3.10 or newer.",
            "Install a newer Python, and the package there.",
        )
    elif sys.maxsize < 2**32:
        yield problem(
            "installation.python-32-bit",
            f"{text}; a 32-bit Python",
            "The native part needs a 64-bit one: definitions, schemas and execute() work, registering does not.",
            "Install a 64-bit Python, and the package there.",
        )
    elif sysconfig.get_config_var("Py_GIL_DISABLED"):
        yield problem(
            "installation.python-free-threaded",
            f"{text}; a free-threaded build",
            "The native part is built on the stable ABI, which free-threaded builds do not have.",
            "Use an ordinary build of Python 3.10 or newer.",
        )
    else:
        yield ok("installation.python", text)


def check_package() -> Iterator[Finding]:
    """Look at the package's version and its native libraries."""
    import openxr_agentic

    folder = Path(openxr_agentic.__file__).parent
    yield ok("installation.package", f"openxr-agentic {__version__} in {folder}")
    installed = _version("openxr-agentic")
    if installed not in (None, __version__):
        yield warning(
            "installation.two-versions",
            f"Version {installed} is installed, and version {__version__} is imported, from {folder}.",
            "Python takes a package from the folder that it is started in first.",
            "Start Python in another folder, or install this one: python -m pip install .",
        )
    yield from _native_part()


def _native_part() -> Iterator[Finding]:
    try:
        from openxr_agentic._native import _binding
    except AgenticError as error:
        yield problem(
            "installation.native-binding",
            str(error),
            "Without it no tool can be registered on an instance.",
            how_to_reinstall(),
        )
    else:
        path = Path(str(_binding.__file__))
        kind = "stable ABI" if ".abi3." in path.name or path.suffix == ".pyd" else "this Python only"
        yield ok("installation.native-binding", f"native binding: {path} ({kind})")
    from openxr_agentic import host

    try:
        yield ok("installation.mock-runtime", f"mock runtime: {host.manifest_path()}")
    except NativeBuildMissingError as error:
        yield problem(
            "installation.mock-runtime",
            str(error),
            "Without it there is no runtime for tests, `run` and `demo`.",
            how_to_reinstall(),
        )
    try:
        yield ok("installation.api-layer", f"API layer: {host.layer_manifest_path()}")
    except NativeBuildMissingError as error:
        yield problem(
            "installation.api-layer",
            str(error),
            "Without it there is no host over other runtimes, for `run --layer`.",
            how_to_reinstall(),
        )


def check_pyopenxr() -> Iterator[Finding]:
    """Import `xr` in a child process: it may fail, and take its process down."""
    version = _version("pyopenxr")
    if not is_installed("xr"):
        yield problem(
            "installation.pyopenxr-missing",
            "pyopenxr is not installed in this Python.",
            "Apps that use `xr` do not start, and its OpenXR loader is missing.",
            "python -m pip install pyopenxr",
        )
        return
    done = subprocess.run(
        [sys.executable, "-c", "import xr"],
        capture_output=True,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        timeout=_CHILD_SECONDS,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
    )
    if done.returncode == 0:
        yield ok("installation.pyopenxr", f"pyopenxr {version or '(version unknown)'}; `import xr` works")
        return
    last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    yield problem(
        "installation.pyopenxr-import",
        f"`import xr` fails: {last}",
        "Apps that use `xr` do not start. Definitions, execute() and the mock runtime work without it.",
        _remedy_of_import(done.stderr),
    )


def _remedy_of_import(stderr: str) -> str:
    if "OpenGL" in stderr or "libGL" in stderr or "GLX" in stderr:
        return (
            "pyopenxr loads PyOpenGL, and that needs libGLX and libX11, also without a display: "
            "apt-get install libglx0 libx11-6 (Debian, Ubuntu); dnf install libglvnd-glx libX11 (Fedora)"
        )
    if "GLIBC" in stderr:
        return "This pyopenxr is built for a newer system: update the system, or install an older pyopenxr."
    return "python -m pip install --force-reinstall pyopenxr"


def check_extras() -> Iterator[Finding]:
    """Say which optional parts are not installed."""
    for extra, (modules, purpose) in _EXTRAS.items():
        missing = [module for module in modules if not is_installed(module)]
        if missing:
            yield hint(
                f"installation.extra-{extra}",
                f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed.",
                f"Needed for {purpose}.",
                f"python -m pip install 'openxr-agentic[{extra}]'",
            )
        else:
            versions = ", ".join(f"{module} {_version(module) or '(version unknown)'}" for module in modules)
            yield ok(f"installation.extra-{extra}", f"{versions}, for {purpose}")


def is_installed(module: str) -> bool:
    """Tell whether a module can be found, without importing it."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # something took its place in sys.modules
        return False


def how_to_reinstall(condition: str = "") -> str:
    """Return how this package is built again: it is on no index, so from its sources.

    Args:
        condition: What must be so meanwhile, as ``"with the variable set"``.
    """
    folder = _editable_folder()
    if folder is not None:
        command = f"python -m pip install --force-reinstall --no-deps -e {shlex.quote(folder)}"
        return f"{command} ({condition})" if condition else command
    return (
        f"Install the package again from its sources{f', {condition}' if condition else ''}: "
        "python -m pip install --force-reinstall --no-deps . (in the source tree)"
    )


def _editable_folder() -> str | None:
    """Return the source tree that this package is installed from as editable, or None."""
    # All: a source tree may be found as another installation of it, which does not tell.
    for found in metadata.distributions(name="openxr-agentic"):
        try:
            origin = json.loads(found.read_text("direct_url.json") or "{}")
            folder = url2pathname(urlsplit(origin["url"]).path)
            if origin["dir_info"].get("editable") and os.path.isdir(folder):
                return folder
        except (ValueError, KeyError, AttributeError, TypeError):  # noqa: PERF203 - each may be of another origin
            continue
    return None


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


CHECKS = (check_python, check_package, check_pyopenxr, check_extras)
