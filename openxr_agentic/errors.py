"""Every exception of the library, and the names of OpenXR's result codes.

All derive from `AgenticError`, which is never raised itself. A subclass exists
where a caller would act differently; each also derives from the builtin that
fits, and its text says what to do.
"""

from __future__ import annotations

import re

_RESULT_TEXT = """
SUCCESS 0; TIMEOUT_EXPIRED 1; SESSION_LOSS_PENDING 3; EVENT_UNAVAILABLE 4; SPACE_BOUNDS_UNAVAILABLE 7;
SESSION_NOT_FOCUSED 8; FRAME_DISCARDED 9;
ERROR_VALIDATION_FAILURE -1; ERROR_RUNTIME_FAILURE -2; ERROR_OUT_OF_MEMORY -3; ERROR_API_VERSION_UNSUPPORTED -4;
ERROR_INITIALIZATION_FAILED -6; ERROR_FUNCTION_UNSUPPORTED -7; ERROR_FEATURE_UNSUPPORTED -8;
ERROR_EXTENSION_NOT_PRESENT -9; ERROR_LIMIT_REACHED -10; ERROR_SIZE_INSUFFICIENT -11; ERROR_HANDLE_INVALID -12;
ERROR_INSTANCE_LOST -13; ERROR_SESSION_RUNNING -14; ERROR_SESSION_NOT_RUNNING -16; ERROR_SESSION_LOST -17;
ERROR_SYSTEM_INVALID -18; ERROR_PATH_INVALID -19; ERROR_PATH_COUNT_EXCEEDED -20; ERROR_PATH_FORMAT_INVALID -21;
ERROR_PATH_UNSUPPORTED -22; ERROR_LAYER_INVALID -23; ERROR_LAYER_LIMIT_EXCEEDED -24; ERROR_SWAPCHAIN_RECT_INVALID -25;
ERROR_SWAPCHAIN_FORMAT_UNSUPPORTED -26; ERROR_ACTION_TYPE_MISMATCH -27; ERROR_SESSION_NOT_READY -28;
ERROR_SESSION_NOT_STOPPING -29; ERROR_TIME_INVALID -30; ERROR_REFERENCE_SPACE_UNSUPPORTED -31;
ERROR_FILE_ACCESS_ERROR -32; ERROR_FILE_CONTENTS_INVALID -33; ERROR_FORM_FACTOR_UNSUPPORTED -34;
ERROR_FORM_FACTOR_UNAVAILABLE -35; ERROR_API_LAYER_NOT_PRESENT -36; ERROR_CALL_ORDER_INVALID -37;
ERROR_GRAPHICS_DEVICE_INVALID -38; ERROR_POSE_INVALID -39; ERROR_INDEX_OUT_OF_RANGE -40;
ERROR_VIEW_CONFIGURATION_TYPE_UNSUPPORTED -41; ERROR_ENVIRONMENT_BLEND_MODE_UNSUPPORTED -42;
ERROR_NAME_DUPLICATED -44; ERROR_NAME_INVALID -45; ERROR_ACTIONSET_NOT_ATTACHED -46;
ERROR_ACTIONSETS_ALREADY_ATTACHED -47; ERROR_LOCALIZED_NAME_DUPLICATED -48; ERROR_LOCALIZED_NAME_INVALID -49;
ERROR_GRAPHICS_REQUIREMENTS_CALL_MISSING -50; ERROR_RUNTIME_UNAVAILABLE -51
"""

_RESULT_NAMES = {int(code): f"XR_{name}" for name, code in re.findall(r"(\w+) (-?\d+)", _RESULT_TEXT)}

XR_SUCCESS = 0
XR_ERROR_VALIDATION_FAILURE = -1
XR_ERROR_RUNTIME_FAILURE = -2
XR_ERROR_FUNCTION_UNSUPPORTED = -7
XR_ERROR_FEATURE_UNSUPPORTED = -8
XR_ERROR_EXTENSION_NOT_PRESENT = -9
XR_ERROR_SIZE_INSUFFICIENT = -11
XR_ERROR_HANDLE_INVALID = -12
XR_ERROR_RUNTIME_UNAVAILABLE = -51

_HINTS = {
    -2: "The runtime or layer failed inside; its own log may say why.",
    -3: "The runtime is out of memory.",
    -4: "The runtime does not support the OpenXR version that was asked for: set application_info.api_version "
    "to 1.0, or update the runtime.",
    -6: "The runtime or layer could not start; its own log may say why.",
    -9: "An extension that was asked for is offered neither by the runtime nor by an enabled layer; openxr-agentic "
    "doctor says who offers what.",
    -10: "The Khronos loader allows one living instance: destroy the other one first.",
    -12: "The XrInstance handle is not valid: it was never created, or has been destroyed.",
    -13: "The instance was lost: destroy it and create another.",
    -36: "A layer that was asked for by name was not found; openxr-agentic doctor says where layers are looked for.",
    -51: "No OpenXR runtime is active, or it could not be loaded; openxr-agentic doctor says which, and what mends it.",
}


def result_name(result: int) -> str:
    """Return the OpenXR name of a result code.

    Args:
        result: An XrResult, also one that this library does not know.

    Returns:
        For example ``"XR_ERROR_VALIDATION_FAILURE"``; for an unknown code, a
        name that holds the number, in the form of xrResultToString.
    """
    unknown = f"XR_UNKNOWN_{'FAILURE' if result < 0 else 'SUCCESS'}_{result}"
    return _RESULT_NAMES.get(result, unknown)


class AgenticError(Exception):
    """Base of every exception that this library raises."""


class ConfigurationError(AgenticError, ValueError):
    """An environment variable or a setting has a value that cannot be used."""


class DefinitionError(AgenticError, ValueError):
    """A tool or parameter definition cannot be expressed in the extension's structures."""


class NativeBuildMissingError(AgenticError, ImportError):
    """A native library of this package is not built, or not for this Python."""

    HOW_TO_BUILD = (
        "Install the package: python -m pip install . (in the source tree). Python takes a package from the folder "
        "that it is started in first, so a source tree hides an installed one: start Python elsewhere, or build in "
        "place: python -m pip install -e ."
    )


class UnsupportedInterpreterError(AgenticError, RuntimeError):
    """The native part cannot be used from this kind of Python or interpreter."""


class LoaderNotFoundError(AgenticError, OSError):
    """There is no OpenXR loader that this process can load."""


class RuntimeNotFoundError(AgenticError):
    """The OpenXR loader found no runtime."""


class ExtensionNotAvailableError(AgenticError):
    """Neither the active runtime nor a layer offers the extension."""


class ExtensionNotEnabledError(AgenticError):
    """The extension is offered, but this instance was created without it."""


class ExtensionUnavailableWarning(UserWarning):
    """The extension was left out, and the app goes on without tools for agents."""


class FunctionMissingError(AgenticError):
    """The extension's function was looked up with success, but its pointer is NULL."""


class InstanceError(AgenticError, ValueError):
    """What was given is not an XrInstance, or none that lives."""


class ServerError(AgenticError, RuntimeError):
    """The agent's server could not be started, or not with these options."""


class ClosedError(AgenticError, RuntimeError):
    """The object was closed before."""


class ResultError(AgenticError, RuntimeError):
    """An OpenXR function returned a failing XrResult.

    Attributes:
        function: Name of the OpenXR function.
        result: The XrResult as a number.
        name: Its OpenXR name, as `result_name` gives it.
    """

    def __init__(self, function: str, result: int, advice: str = "") -> None:
        self.function = function
        self.result = result
        self.name = result_name(result)
        advice = advice or _HINTS.get(result, "")
        super().__init__(f"{function} returned {self.name} ({result})." + (f" {advice}" if advice else ""))

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_result_error, (type(self), self.args, self.function, self.result))


def _rebuild_result_error(kind: type[ResultError], args: tuple[object, ...], function: str, result: int) -> ResultError:
    """Pickling support: the text is kept as it was made."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.function, error.result, error.name = function, result, result_name(result)
    return error


class RegistrationRefusedError(ResultError):
    """The host refused a registration with VALIDATION_FAILURE, and it is not certain why.

    Attributes:
        brief: The same in some words, for where the whole text was said already; empty: the text is short.
    """

    brief: str = ""


class ToolNameTakenError(ResultError, KeyError):
    """A tool of that name is registered on this instance already; the extension cannot unregister."""

    # KeyError would show the text quoted.
    __str__ = Exception.__str__


class ToolError(AgenticError):
    """Raise it in a tool: the agent gets your text, and nothing is logged as a fault.

    Args:
        message: What went wrong, for the agent.
        tip: What the agent could do about it, if there is something.
    """

    tip: str | None = None

    def __init__(self, message: str, *, tip: str | None = None) -> None:
        super().__init__(message)
        self.tip = tip


class ArgumentError(AgenticError, ValueError):
    """The arguments of a call do not fit the tool's parameters; the tool was not run.

    Its text is for the agent: one line a fault, all of them at once.

    Args:
        tool_name: Name of the tool.
        faults: One text a fault: which argument, what came, what was expected.
        tip: What would fit, if an example helps.

    Attributes:
        tool_name: As given.
        faults: As given; the exception's text shows the first `MOST_SHOWN` of them.
        tip: As given.
    """

    MOST_SHOWN = 20

    def __init__(self, tool_name: str, faults: list[str], *, tip: str | None = None) -> None:
        self.tool_name = tool_name
        self.faults = faults
        self.tip = tip
        if len(faults) == 1:
            end = "" if faults[0].endswith(("?", ".")) else "."
            text = f"{tool_name} was not run: {faults[0]}{end}"
        else:
            shown = faults[: self.MOST_SHOWN]
            more = [f"and {len(faults) - len(shown)} more"] if len(faults) > len(shown) else []
            text = f"{tool_name} was not run: {len(faults)} faults in its arguments:"
            text = "\n- ".join([text, *shown, *more])
        super().__init__(text)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_argument_error, (type(self), self.tool_name, self.faults, self.tip))


def _rebuild_argument_error(
    kind: type[ArgumentError], tool_name: str, faults: list[str], tip: str | None
) -> ArgumentError:
    """Pickling support: `tip` is given by keyword."""
    return kind(tool_name, faults, tip=tip)


class ResultValueError(AgenticError, ValueError):
    """What a tool returned cannot be said in strict JSON; the text names the place and what to return instead."""


class ToolTimeoutError(AgenticError, TimeoutError):
    """An `async def` tool took longer than its time, and was cancelled."""


class NameClashError(DefinitionError):
    """Two tools want one name, and nothing says which is meant."""


class _UnknownNameError(AgenticError, KeyError):
    # KeyError would show the text quoted.
    __str__ = Exception.__str__

    _words = "There is no {name!r}."

    def __init__(self, name: str, near: tuple[str, ...] = ()) -> None:
        self.name = name
        self.near = near
        text = self._words.format(name=name)
        super().__init__(f"{text} Did you mean {' or '.join(map(repr, near))}?" if near else text)

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.name, self.near))


class UnknownToolError(_UnknownNameError):
    """There is no tool of that name.

    Args:
        name: The name that was asked for.
        near: Names that are like it, the nearest first.

    Attributes:
        name: As given.
        near: As given.
    """

    _words = "There is no tool named {name!r}."


class UnknownGroupError(_UnknownNameError):
    """No tool belongs to a group of that name.

    Args:
        name: The name that was asked for.
        near: Names that are like it, the nearest first.

    Attributes:
        name: As given.
        near: As given.
    """

    _words = "No tool belongs to a group named {name!r}."


class ToolDisabledError(ToolError):
    """The tool is there, but agents are not to call it now; it was not run.

    Args:
        tool_name: Name of the tool.
        reason: Why, as ``"it is disabled"``.

    Attributes:
        tool_name: As given.
        reason: As given.
    """

    def __init__(self, tool_name: str, reason: str) -> None:
        self.tool_name = tool_name
        self.reason = reason
        super().__init__(f"{tool_name} was not run: {reason}.", tip="Do not call it again until it is listed again.")

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.tool_name, self.reason))
