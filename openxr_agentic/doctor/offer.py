"""Whether the extension is offered, and by whom: the runtime, or an API layer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

from openxr_agentic.doctor import enabled_layers, layers, manifests, runtime
from openxr_agentic.doctor.findings import Finding, hint, ok, problem
from openxr_agentic.host.manifests import LAYER_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

NAME = "XR_METAX1_agentic_external_tool"
_MOCK_VARIABLE = "OPENXR_AGENTIC_MOCK_EXTENSION"
_CHILD_SECONDS = 30.0
_MOST_LINES = 2  # the first ones tell the cause
_WITHOUT_IT = "Apps start without tools for agents: enable_extension() leaves the extension out, with a warning."


class Answer(NamedTuple):
    """What a child process heard from OpenXR's loader.

    Attributes:
        extensions: Names of the instance extensions; None: it heard none.
        error: The name of this package's exception; ``"crash"``, ``"timeout"`` or ``"unsafe"``
            (it was not asked); empty: none.
        text: What went wrong, in words.
        output: The first lines that loader and runtime printed.
        remedy: What mends it, where that is known.
        library: What is wrong with the runtime's library, and said in the text: ``"loading"``, or
            ``"function"`` (it is no runtime); empty: nothing that is known.
    """

    extensions: tuple[str, ...] | None
    error: str = ""
    text: str = ""
    output: str = ""
    remedy: str = ""
    library: str = ""


def ask(environment: Mapping[str, str] = os.environ) -> Answer:
    """Ask OpenXR's loader, in a child process, which instance extensions are offered.

    It is not asked where it would read a file without end (`unsafe_manifest`).

    Args:
        environment: The child's environment.
    """
    unsafe = unsafe_manifest()
    if unsafe is not None:
        file, fault = unsafe
        return Answer(None, "unsafe", f"{file} {fault.text}", remedy=fault.remedy)
    path = os.pathsep.join(entry for entry in sys.path if entry)
    # The child ends when nobody holds the other end any more, and so with this process.
    its_stdin, held = os.pipe()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "openxr_agentic.doctor.probe"],
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            stdin=its_stdin,
            timeout=_CHILD_SECONDS,
            check=False,
            env={**environment, "PYTHONPATH": path},
        )
    except subprocess.TimeoutExpired:
        return Answer(None, "timeout", f"it did not answer within {_CHILD_SECONDS:.0f} s")
    finally:
        os.close(its_stdin)
        os.close(held)
    output = " / ".join(done.stderr.strip().splitlines()[:_MOST_LINES])
    if done.returncode != 0 or not done.stdout:
        return Answer(None, "crash", ended(done.returncode), output)
    said = json.loads(done.stdout)
    if "error" in said:
        return Answer(None, said["error"], said["text"], output, library=said["library"])
    return Answer(tuple(said["extensions"]), output=output)


def unsafe_manifest() -> tuple[Path, manifests.Fault] | None:
    """Return a manifest that OpenXR's loader opens and would read without end, and why; None: there is none.

    Whether a layer is enabled does not matter: the loader reads every manifest that it finds.
    """
    active = runtime.chosen().path
    found = [manifests.read(active, "runtime")] if active is not None else []
    found += [layer.manifest for layer in layers.found()]
    return next(((each.path, each.fault) for each in found if each.fault is not None and each.fault.harmful), None)


def ended(code: int) -> str:
    """Say how a child process ended."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"ended by signal {-code}"


def check_offer() -> Iterator[Finding]:
    """Ask who offers the extension."""
    broken = _broken()
    # The loader takes a broken layer's manifest at its word; no instance can be created with that layer.
    answer = ask(_without(broken)) if broken else ask()
    who, name = _runtime_name()
    if answer.extensions is None:
        yield from _no_answer(answer, who)
    elif NAME in answer.extensions:
        yield from _offered(name)
    else:
        yield from _not_offered(who, broken)


def _no_answer(answer: Answer, who: str) -> Iterator[Finding]:
    printed = f" It printed: {answer.output}" if answer.output else ""
    if answer.error == "unsafe":
        yield problem(
            "offer.not-asked",
            f"Whether {NAME} is offered was not asked, since OpenXR's loader would read a file that does not end "
            f"or is far too large: {answer.text}.",
            "Every app that asks the loader has it read that too, and may hang or take all memory.",
            answer.remedy,
        )
    elif answer.error in ("crash", "timeout"):
        what = "crashes" if answer.error == "crash" else "hangs"
        yield problem(
            f"offer.{answer.error}",
            f"OpenXR's loader or {who} {what} when it is asked for its extensions ({answer.text}).{printed}",
            "An app that asks would crash or hang as well.",
            "Update or reinstall the runtime; XR_LOADER_DEBUG=all makes the loader say what it does.",
        )
    elif answer.error == "RuntimeNotFoundError":
        yield _no_runtime(answer, who, printed)
    else:
        yield problem(
            "offer.not-known",
            f"Whether {NAME} is offered cannot be asked: {answer.text}{printed}",
            _WITHOUT_IT,
            "Mend what is said above first.",
        )


def _no_runtime(answer: Answer, who: str, printed: str) -> Finding:
    choice = runtime.chosen()
    if choice.path is None or manifests.read(choice.path, "runtime").fault is not None:  # said already, and better
        return problem(
            "offer.no-runtime",
            f"OpenXR's loader loads no runtime, so nobody offers {NAME}.",
            _WITHOUT_IT,
            "See the active runtime.",
        )
    remedies = {
        "loading": "Install what the library needs, or the runtime again; or choose another runtime.",
        "function": f"Correct library_path in {choice.path}, or choose another runtime.",
        "": "Update or reinstall the runtime, or choose another one; XR_LOADER_DEBUG=all makes the loader say why.",
    }
    nobody = f"so nobody offers {NAME}"
    return problem(
        "offer.no-runtime",
        f"OpenXR's loader does not load {who}, {nobody}: {answer.text}."
        if answer.library
        else f"OpenXR's loader does not load {who}, {nobody}.{printed}",
        _WITHOUT_IT,
        remedies[answer.library],
    )


def _runtime_name() -> tuple[str, str]:
    """Return the active runtime in words that name its manifest, and its bare name."""
    choice = runtime.chosen()
    if choice.path is None:
        return "the runtime", "the runtime"
    name = manifests.read(choice.path, "runtime").name
    return f"the runtime {name} ({choice.path})" if name else f"the runtime of {choice.path}", name or "the runtime"


def _enabled() -> list[layers.Layer]:
    """Return the enabled layers that say they offer the extension, broken ones too."""
    return [layer for layer in layers.found() if layer.enabled and NAME in layer.manifest.instance_extensions]


def _offering() -> list[layers.Layer]:
    return [layer for layer in _enabled() if layer.manifest.fault is None]


def _broken() -> list[layers.Layer]:
    sound = {layer.name for layer in _offering()}  # the loader takes the sound one of two of a name
    return [layer for layer in _enabled() if layer.manifest.fault is not None and layer.name not in sound]


def is_ours() -> bool:
    """Tell whether the host that answers an app here is this package's own: the mock runtime, or our layer."""
    offering = _offering()
    if any(layer.name != LAYER_NAME for layer in offering):
        return False  # our layer steps aside for it
    if runtime.is_mock():
        return True
    if not offering:
        return False
    below = ask(_without(offering))
    return below.extensions is None or NAME not in below.extensions


def _offered(runtime_name: str) -> Iterator[Finding]:
    offering = _offering()
    if not offering:
        yield ok("offer.runtime", f"{NAME} is offered by {runtime_name}.")
        return
    names = " and ".join(dict.fromkeys(layer.name for layer in offering))
    without = ask(_without(offering))
    if without.extensions is not None and NAME in without.extensions:
        yield ok(
            "offer.both",
            f"{NAME} is offered by the layer {names} and by {runtime_name}.",
            "The layer is nearer to the app, so it is asked first.",
        )
    else:
        yield ok("offer.layer", f"{NAME} is offered by the layer {names}.")


def _without(offering: list[layers.Layer]) -> dict[str, str]:
    """Return this environment with layers turned off."""
    environment = dict(os.environ)
    off = {layer.name for layer in offering}
    left = [name for name in layers.enabled_names() if name not in off]
    environment[layers.ENABLE_VARIABLE] = os.pathsep.join(left)
    for layer in offering:
        disable = layer.manifest.body.get("disable_environment")
        if layer.implicit and layers.is_variable(disable):
            environment[disable] = "1"
    return environment


def _not_offered(who: str, broken: list[layers.Layer]) -> Iterator[Finding]:
    what = f"Neither {who} nor an enabled API layer offers {NAME}"
    if runtime.is_mock() and os.environ.get(_MOCK_VARIABLE) == "0":
        yield problem(
            "offer.nobody",
            f"{what}: {_MOCK_VARIABLE}=0 keeps the mock runtime from it.",
            _WITHOUT_IT,
            f"unset {_MOCK_VARIABLE}, or enable a layer that offers it: openxr-agentic run --layer -- python app.py",
        )
    elif broken:
        names = " and ".join(dict.fromkeys(layer.name for layer in broken))
        yield problem(
            "offer.nobody",
            f"{what}: {names} would, and cannot be loaded.",
            _WITHOUT_IT,
            "Mend what is said of it among the API layers.",
        )
    else:
        yield problem(
            "offer.nobody",
            f"{what}.",
            f"{_WITHOUT_IT} The active runtime may be another one than you think.",
            "Enable the layer that offers it (Meta's, or this package's over any runtime: openxr-agentic run --layer "
            "-- python app.py), or choose another runtime, or run the app on this package's mock runtime: "
            "openxr-agentic run -- python app.py",
        )
    for layer in layers.found():
        if NAME in layer.manifest.instance_extensions and not layer.enabled:
            fault = layer.manifest.fault
            reason = f"its manifest {fault.text}" if fault else layer.why_not
            because = f": {reason}" if reason else ""
            yield hint(
                "offer.layer-not-enabled",
                f"The {layer.kind} layer {layer.name} offers {NAME}, and is not enabled{because}.",
                "Enabled, it lets agents call the tools of apps over the active runtime.",
                fault.remedy if fault else _how_to_enable(layer),
            )


def _how_to_enable(layer: layers.Layer) -> str:
    if layer.implicit:
        return f"See enable_environment and disable_environment in {layer.manifest.path}."
    return enabled_layers.how_to_enable(layer)


CHECKS = (check_offer,)
