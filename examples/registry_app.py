"""A whole app with a registry: typed tools that change its scene, a headless session, a frame loop.

Try it without a headset:

    openxr-agentic run -- python examples/registry_app.py

and connect an MCP client to the address that is printed. It ends on Ctrl-C.
"""

import argparse
import ctypes
import time
from dataclasses import dataclass

import xr

import openxr_agentic as agentic

registry = agentic.ToolRegistry(prefix="Example_")


@dataclass
class Cube:
    """A cube of the scene.

    Attributes:
        name: Its name.
        position: Where it is, in metres.
        falling: Whether it falls.
    """

    name: str
    position: tuple[float, float, float]
    falling: bool = False


class Scene:
    """What the app shows. Its tools run between two frames, on the main thread, and so need no lock."""

    def __init__(self) -> None:
        self.cubes: dict[str, Cube] = {}
        self.frames = 0

    @registry.tool
    def create_cube(self, position: tuple[float, float, float], name: str | None = None) -> Cube:
        """Create a cube in the scene, and return it.

        Args:
            position: Where, in metres, as [x, y, z].
            name: Its name; one is made up if it is left out.
        """
        name = name or f"cube_{len(self.cubes) + 1}"
        if name in self.cubes:
            raise agentic.ToolError(f"There is a cube {name!r} already.", tip="Choose another name, or none.")
        self.cubes[name] = Cube(name, position)
        return self.cubes[name]

    @registry.tool
    def drop_cube(self, name: str) -> Cube:
        """Let a cube fall to the floor, and return it as it is now.

        Args:
            name: Its name.
        """
        if name not in self.cubes:
            raise agentic.ToolError(f"There is no cube {name!r}.", tip=f"Cubes: {', '.join(self.cubes) or 'none'}.")
        self.cubes[name].falling = True
        return self.cubes[name]

    @registry.tool(annotations={"readOnlyHint": True})
    def list_cubes(self) -> list[Cube]:
        """Return all cubes of the scene."""
        return list(self.cubes.values())

    def step(self) -> None:
        """Let a frame pass."""
        self.frames += 1
        for cube in self.cubes.values():
            x, y, z = cube.position
            if cube.falling and y > 0:
                cube.position = (x, max(0.0, y - 0.01), z)


def main() -> None:
    """Offer the tools until the session exits, the time is over, or Ctrl-C."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=float, help="end after this time")
    seconds = options.parse_args().seconds

    scene = Scene()
    registry.register_object(scene)
    instance = xr.create_instance(
        xr.InstanceCreateInfo(
            application_info=xr.ApplicationInfo(application_name="Registry example"),
            enabled_extension_names=agentic.enable_extension([xr.MND_HEADLESS_EXTENSION_NAME]),
        )
    )
    try:
        # Where nobody offers the extension, a warning says so, and the app runs without tools.
        with registry.attach(instance) as attachment:
            print(attachment.status().reason or f"Agents can call {', '.join(attachment.status().tools)}.", flush=True)
            frame_loop(instance, scene, None if seconds is None else time.monotonic() + seconds)
    except KeyboardInterrupt:
        pass
    finally:
        xr.destroy_instance(instance)


def frame_loop(instance: xr.Instance, scene: Scene, end: float | None) -> None:
    """Run a session until it exits, or until a time on the monotonic clock."""
    system = xr.get_system(instance, xr.SystemGetInfo(xr.FormFactor.HEAD_MOUNTED_DISPLAY))
    session = xr.create_session(instance, xr.SessionCreateInfo(system_id=system))
    running, has_frames = False, True
    while True:
        state = next_state(instance)
        if state == xr.SessionState.READY:
            xr.begin_session(session, xr.SessionBeginInfo(xr.ViewConfigurationType.PRIMARY_STEREO))
            running = True
        elif state == xr.SessionState.STOPPING:
            xr.end_session(session)
            running = False
        elif state in (xr.SessionState.EXITING, xr.SessionState.LOSS_PENDING):
            return
        if state is not None:
            continue  # there may be more events
        if not running:
            time.sleep(0.01)
            continue
        frame = xr.wait_frame(session)  # the host runs the tools in here
        scene.step()
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


def next_state(instance: xr.Instance) -> xr.SessionState | None:
    """Return the session's next state; None: no event waits."""
    while True:
        try:
            event = xr.poll_event(instance)
        except xr.EventUnavailable:
            return None
        if event.type == xr.StructureType.EVENT_DATA_SESSION_STATE_CHANGED.value:
            kind = ctypes.POINTER(xr.EventDataSessionStateChanged)
            return xr.SessionState(ctypes.cast(ctypes.byref(event), kind).contents.state)


if __name__ == "__main__":
    main()
