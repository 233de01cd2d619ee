"""The OpenXR loader: which file it is, for which processor, and whether it loads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from openxr_agentic import architecture, loader
from openxr_agentic.doctor.findings import Finding, hint, ok, problem
from openxr_agentic.doctor.installation import is_installed
from openxr_agentic.errors import LoaderNotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator


def check_loader() -> Iterator[Finding]:
    """Load the loader that an AgenticExtension would take, or say why there is none."""
    try:
        found = loader.load()
    except LoaderNotFoundError as error:
        yield problem(
            "loader.none",
            str(error),
            "Without a loader no OpenXR app runs; tools can still be defined, executed and tested.",
            "python -m pip install --force-reinstall pyopenxr",
        )
        return
    built_for = architecture.of_library(found.path)
    processor = f", for {' and '.join(built_for)}" if built_for else ""
    if is_pyopenxrs(found.path):
        yield ok("loader.file", f"{found.path} (pyopenxr's own{processor})")
        return
    yield hint(
        "loader.file",
        f"{found.path} (the system's{processor})",
        "An instance that was made with another loader, as pyopenxr's, is unknown to this one.",
        "python -m pip install pyopenxr"
        if not is_installed("xr")
        else "Give AgenticExtension the get_instance_proc_addr of the loader that made the instance.",
    )


def is_pyopenxrs(path: str) -> bool:
    """Tell whether a loader is the one that pyopenxr brings."""
    return Path(path).parts[-4:-2] == ("xr", "library")


CHECKS = (check_loader,)
