"""Tools in an app that is written around a context object, as pyopenxr's own examples are.

    openxr-agentic run -- python examples/context_loop.py

The context owns instance, session and tools, and gives them back in order; the
app is what happens in the loop. The tool changes what the loop does: both run
on the main thread, so they need no lock.
"""

import argparse
import ctypes
import json
import time
from collections.abc import Iterator
from contextlib import ExitStack

import xr

import openxr_agentic as agentic


class HeadlessContext:
    """An instance, a headless session and the agentic extension, for one ``with`` block.

    Args:
        application_name: What runtimes and agents call the app.

    Attributes:
        extension: Where tools are registered.
        exit_requested: Set it to leave the loop in the way OpenXR prescribes.
    """

    def __init__(self, application_name: str) -> None:
        self.application_name = application_name
        self.exit_requested = False
        self._resources = ExitStack()

    def __enter__(self) -> "HeadlessContext":  # noqa: PYI034 - typing.Self came with 3.11
        with ExitStack() as opened:
            self.instance = xr.create_instance(
                xr.InstanceCreateInfo(
                    application_info=xr.ApplicationInfo(application_name=self.application_name),
                    enabled_extension_names=agentic.enable_extension([xr.MND_HEADLESS_EXTENSION_NAME], required=True),
                )
            )
            opened.callback(xr.destroy_instance, self.instance)
            self.extension = opened.enter_context(agentic.AgenticExtension(self.instance))
            head_mounted = xr.SystemGetInfo(xr.FormFactor.HEAD_MOUNTED_DISPLAY)
            system = xr.get_system(self.instance, head_mounted)
            self.session = xr.create_session(self.instance, xr.SessionCreateInfo(system_id=system))
            opened.callback(xr.destroy_session, self.session)
            self._resources = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    def frame_loop(self) -> Iterator[tuple[int, xr.FrameState]]:
        """Yield (frame index, frame state) while the session runs; ends when it exits."""
        index, has_frames = 0, True
        for running in self._session_is_running():
            if not running:
                time.sleep(0.01)
                continue
            if self.exit_requested:
                self.exit_requested = False
                xr.request_exit_session(self.session)
            state = xr.wait_frame(self.session)  # the host runs main-thread tools in here
            has_frames = has_frames and self._begin_frame()
            yield index, state
            index += 1
            if not has_frames:
                time.sleep(0.01)
                continue
            xr.end_frame(
                self.session,
                xr.FrameEndInfo(
                    display_time=state.predicted_display_time,
                    environment_blend_mode=xr.EnvironmentBlendMode.OPAQUE,
                    layers=[],
                ),
            )

    def _begin_frame(self) -> bool:
        """Begin a frame; False: here a session without graphics has no frames (Monado)."""
        try:
            xr.begin_frame(self.session)
        except xr.CallOrderInvalidError:
            return False
        return True

    def _session_is_running(self) -> Iterator[bool]:
        running = False
        while True:
            for state in self._new_states():
                if state == xr.SessionState.READY:
                    stereo = xr.ViewConfigurationType.PRIMARY_STEREO
                    xr.begin_session(self.session, xr.SessionBeginInfo(stereo))
                    running = True
                elif state == xr.SessionState.STOPPING:
                    xr.end_session(self.session)
                    running = False
                elif state in (xr.SessionState.EXITING, xr.SessionState.LOSS_PENDING):
                    return
            yield running

    def _new_states(self) -> Iterator[xr.SessionState]:
        kind = ctypes.POINTER(xr.EventDataSessionStateChanged)
        while True:
            try:
                event = xr.poll_event(self.instance)
            except xr.EventUnavailable:
                return
            if event.type == xr.StructureType.EVENT_DATA_SESSION_STATE_CHANGED.value:
                yield xr.SessionState(ctypes.cast(ctypes.byref(event), kind).contents.state)


class Counter:
    """The app: it counts frames, and an agent can set the count."""

    def __init__(self) -> None:
        self.value = 0

    def set_count(self, arguments: str) -> str:
        """Set the count, and answer with the old one."""
        value = json.loads(arguments).get("value")
        if not isinstance(value, int):
            raise agentic.ToolError("value must be a whole number.", tip='Send {"value": 0}.')
        old, self.value = self.value, value
        return json.dumps({"old": old, "new": value})


def main() -> None:
    """Count frames until the session exits, the time is over, or Ctrl-C."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=float, help="end after this time")
    seconds = options.parse_args().seconds
    end = float("inf") if seconds is None else time.monotonic() + seconds

    counter = Counter()
    with HeadlessContext("Context example") as context:
        context.extension.register_tool(
            "Example_SetCount",
            "Sets the app's frame counter.",
            [agentic.ToolParameter("value", "The new count", agentic.ParameterType.NUMBER, required=True)],
            counter.set_count,
        )
        try:
            for _frame_index, _frame_state in context.frame_loop():
                counter.value += 1
                if time.monotonic() >= end:
                    context.exit_requested, end = True, float("inf")
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
