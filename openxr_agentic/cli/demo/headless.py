"""An OpenXR session without a display, and its frame loop (XR_MND_headless)."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import xr

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import Event

_RUNNING_STATES = (
    xr.SessionState.READY,
    xr.SessionState.SYNCHRONIZED,
    xr.SessionState.VISIBLE,
    xr.SessionState.FOCUSED,
)
_SECONDS_BETWEEN_LOOKS = 0.001
_LAST_STATES = (xr.SessionState.EXITING, xr.SessionState.LOSS_PENDING)


def frames(instance: xr.Instance, stop: Event) -> Iterator[xr.FrameState]:
    """Run a headless session and yield each of its frames, until it is over.

    Args:
        instance: Created with XR_MND_headless.
        stop: Set by the app when it wants to end; the session then goes through
            the states that OpenXR prescribes, and the loop ends with it.
    """
    system = xr.get_system(instance, xr.SystemGetInfo(xr.FormFactor.HEAD_MOUNTED_DISPLAY))
    session = xr.create_session(instance, xr.SessionCreateInfo(system_id=system))
    try:
        yield from _session_frames(instance, session, stop)
    finally:
        xr.destroy_session(session)


def _session_frames(instance: xr.Instance, session: xr.Session, stop: Event) -> Iterator[xr.FrameState]:
    state = xr.SessionState.UNKNOWN
    exit_requested = False
    has_frames = True
    while state not in _LAST_STATES:
        for state in _state_changes(instance):
            if state == xr.SessionState.READY:
                xr.begin_session(session, xr.SessionBeginInfo(xr.ViewConfigurationType.PRIMARY_STEREO))
            elif state == xr.SessionState.STOPPING:
                xr.end_session(session)
        if state not in _RUNNING_STATES:
            # Not running before READY and after STOPPING: there only events matter.
            stop.wait(_SECONDS_BETWEEN_LOOKS)
            continue
        if stop.is_set() and not exit_requested:
            xr.request_exit_session(session)
            exit_requested = True
        frame = xr.wait_frame(session)
        has_frames = has_frames and _begin_frame(session)
        yield frame
        if has_frames:
            xr.end_frame(
                session,
                xr.FrameEndInfo(
                    display_time=frame.predicted_display_time,
                    environment_blend_mode=xr.EnvironmentBlendMode.OPAQUE,
                    layers=[],
                ),
            )
        else:
            stop.wait(_SECONDS_BETWEEN_LOOKS)


def _begin_frame(session: xr.Session) -> bool:
    """Begin a frame; False: a session without graphics has none here, as on Monado 25.0, which does not wait either."""
    try:
        xr.begin_frame(session)
    except xr.CallOrderInvalidError:
        return False
    return True


def _state_changes(instance: xr.Instance) -> Iterator[xr.SessionState]:
    while True:
        try:
            event = xr.poll_event(instance)
        except xr.EventUnavailable:
            return
        if event.type == xr.StructureType.EVENT_DATA_SESSION_STATE_CHANGED.value:
            changed = ctypes.cast(ctypes.byref(event), ctypes.POINTER(xr.EventDataSessionStateChanged))
            yield xr.SessionState(changed.contents.state)
