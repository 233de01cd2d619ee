"""An app that starts the agent's server itself: one call, and a process of the server's own.

Try it without a headset:

    export XR_RUNTIME_JSON="$(python -c 'from openxr_agentic import host; print(host.manifest_path())')"
    python examples/self_serving_app.py

and connect an MCP client to the address that is printed. It ends on Ctrl-C, and the server with it.
"""

import argparse
import contextlib
import time

import xr

import openxr_agentic as agentic

registry = agentic.ToolRegistry(prefix="Example_")


@registry.tool(main_thread=False)  # it waits for no frame: this app has none
def uptime() -> float:
    """Return how long the app has run, in seconds."""
    return time.monotonic() - BEGIN


BEGIN = time.monotonic()


def main() -> None:
    """Offer the tool until the time is over, or Ctrl-C."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=float, default=1e9, help="end after this time")
    seconds = options.parse_args().seconds

    server = agentic.start_server()  # before the instance: this is what lets the host open its control channel
    instance = xr.create_instance(
        xr.InstanceCreateInfo(
            application_info=xr.ApplicationInfo(application_name="Self-serving example"),
            enabled_extension_names=agentic.enable_extension([xr.MND_HEADLESS_EXTENSION_NAME]),
        )
    )
    try:
        with registry.attach(instance), contextlib.suppress(KeyboardInterrupt):
            print(f"Agents connect to {server.url}", flush=True)
            time.sleep(seconds)  # a frame loop, in an app that draws
    finally:
        xr.destroy_instance(instance)


if __name__ == "__main__":
    main()
