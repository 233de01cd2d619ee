"""The smallest complete app: one tool, a headless session, a frame loop.

Try it without a headset:

    openxr-agentic run -- python examples/headless_app.py

and connect an MCP client to the address that is printed. It ends on Ctrl-C.
"""

import argparse
import ctypes
import json
import time

import xr

import openxr_agentic as agentic


def echo(arguments: str) -> str:
    """Answer with what the agent sent; arguments are JSON text, and so may the result be."""
    return str(json.loads(arguments)["input"])


def main() -> None:
    """Offer the tool until the session exits, the time is over, or Ctrl-C."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=float, help="end after this time")
    seconds = options.parse_args().seconds

    # 1. Ask for the extension. Where nobody offers it, the app runs without tools.
    instance = xr.create_instance(
        xr.InstanceCreateInfo(
            application_info=xr.ApplicationInfo(application_name="Headless example"),
            enabled_extension_names=agentic.enable_extension([xr.MND_HEADLESS_EXTENSION_NAME]),
        )
    )
    extension = None
    try:
        # 2. Register the tools; they can be called from now on.
        if agentic.is_extension_available():
            extension = agentic.AgenticExtension(instance)
            extension.register_tool(
                "Example_Echo",
                "Gives back the text that it is given.",
                [agentic.ToolParameter("input", "What to give back", agentic.ParameterType.STRING, required=True)],
                echo,
            )
        # 3. Run the app. Tools run inside xrWaitFrame, between two frames.
        frame_loop(instance, None if seconds is None else time.monotonic() + seconds)
    except KeyboardInterrupt:
        pass
    finally:
        if extension is not None:
            extension.close()
        xr.destroy_instance(instance)


def frame_loop(instance: xr.Instance, end: float | None) -> None:
    """Run a session until it exits, or until a time on the monotonic clock."""
    system = xr.get_system(instance, xr.SystemGetInfo(xr.FormFactor.HEAD_MOUNTED_DISPLAY))
    session = xr.create_session(instance, xr.SessionCreateInfo(system_id=system))
    running, has_frames = False, True
    while True:
        try:
            event = xr.poll_event(instance)
        except xr.EventUnavailable:
            pass
        else:
            if event.type == xr.StructureType.EVENT_DATA_SESSION_STATE_CHANGED.value:
                kind = ctypes.POINTER(xr.EventDataSessionStateChanged)
                state = xr.SessionState(ctypes.cast(ctypes.byref(event), kind).contents.state)
                if state == xr.SessionState.READY:
                    stereo = xr.ViewConfigurationType.PRIMARY_STEREO
                    xr.begin_session(session, xr.SessionBeginInfo(stereo))
                    running = True
                elif state == xr.SessionState.STOPPING:
                    xr.end_session(session)
                    running = False
                elif state in (xr.SessionState.EXITING, xr.SessionState.LOSS_PENDING):
                    return
            continue  # there may be more events
        if not running:
            time.sleep(0.01)
            continue
        frame = xr.wait_frame(session)
        has_frames = has_frames and submit_nothing(session, frame)
        time.sleep(0 if has_frames else 0.01)  # where there are frames, xrWaitFrame has waited
        if end is not None and time.monotonic() >= end:
            xr.request_exit_session(session)
            end = None


def submit_nothing(session: xr.Session, frame: xr.FrameState) -> bool:
    """Submit an empty frame; False: here a session without graphics has no frames (Monado)."""
    try:
        xr.begin_frame(session)
    except xr.CallOrderInvalidError:
        return False
    opaque = xr.EnvironmentBlendMode.OPAQUE
    xr.end_frame(session, xr.FrameEndInfo(frame.predicted_display_time, opaque, layers=[]))
    return True


if __name__ == "__main__":
    main()
