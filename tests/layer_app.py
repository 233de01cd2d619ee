"""A headless app, run by tests of the API layer; an agent on another of its threads calls its tool.

    python layer_app.py LIBRARY [LAYER]

Twice over, on one instance after the other: prints the agent's answer, and which host has the process's
channel, if there is one. LIBRARY is of the host that is expected to serve; LAYER is enabled by the app itself.
"""

import asyncio
import os
import sys
import threading
from pathlib import Path

import xr

import openxr_agentic as agentic
from openxr_agentic.cli.headless import frames
from openxr_agentic.host import control
from openxr_agentic.host.channel import ChannelClient, find_apps


async def host_of_channel() -> str:
    (app,) = find_apps()
    client = await ChannelClient.connect(app.path)
    try:
        return client.host
    finally:
        await client.close()


def main(library: str, *layers: str) -> None:
    host = control.load(Path(library))
    for _ in range(2):
        info = xr.InstanceCreateInfo(
            enabled_extension_names=[xr.MND_HEADLESS_EXTENSION_NAME, agentic.EXTENSION_NAME],
            enabled_api_layer_names=list(layers),
        )
        instance = xr.create_instance(info)
        with agentic.AgenticExtension(instance) as extension:
            extension.register_tool("MyApp_echo", "Echoes.", [], lambda arguments: arguments)
            stop = threading.Event()

            def agent(stop: threading.Event = stop) -> None:
                print("answer", host.call("MyApp_echo", '{"a":1}', timeout=60).text)
                stop.set()

            thread = threading.Thread(target=agent)
            thread.start()
            for _frame in frames(instance, stop):
                pass
            thread.join()
        if "OPENXR_AGENTIC_CHANNEL" in os.environ:
            print("channel", asyncio.run(host_of_channel()))
        xr.destroy_instance(instance)


if __name__ == "__main__":
    main(*sys.argv[1:])
