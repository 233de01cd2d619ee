"""A headless app, run by tests of the API layer; an agent on another of its threads calls its tool.

Twice over, on one instance after the other: prints the agent's answer, and which host has the process's
channel where one was asked for.
"""

import argparse
import asyncio
import contextlib
import os
import threading
from pathlib import Path

import xr

import openxr_agentic as agentic
from openxr_agentic.cli.demo.headless import frames
from openxr_agentic.host import control
from openxr_agentic.host.channel import ChannelClient, find_apps


async def host_of_channel():
    (app,) = find_apps()
    client = await ChannelClient.connect(app.path)
    try:
        return client.host
    finally:
        await client.close()


def run_until(stop, instance, session):
    if session:
        for _frame in frames(instance, stop):
            pass
        return
    while not stop.wait(0.001):
        with contextlib.suppress(xr.EventUnavailable):
            xr.poll_event(instance)


def use_instance(host, options):
    extensions = [agentic.EXTENSION_NAME, *([] if options.no_session else [xr.MND_HEADLESS_EXTENSION_NAME])]
    info = xr.InstanceCreateInfo(enabled_extension_names=extensions, enabled_api_layer_names=options.layer)
    instance = xr.create_instance(info)
    with agentic.AgenticExtension(instance) as extension:
        extension.register_tool("MyApp_echo", "Echoes.", [], lambda arguments: arguments)
        stop = threading.Event()

        def agent():
            try:
                print("answer", host.call("MyApp_echo", '{"a":1}', timeout=30).text)
            finally:
                stop.set()

        thread = threading.Thread(target=agent)
        thread.start()
        run_until(stop, instance, not options.no_session)
        thread.join()
    if "OPENXR_AGENTIC_CHANNEL" in os.environ:
        print("channel", asyncio.run(host_of_channel()))
    xr.destroy_instance(instance)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=Path, help="of the host that is expected to serve")
    parser.add_argument("--layer", action="append", default=[], help="a layer that the app itself enables")
    parser.add_argument("--no-session", action="store_true", help="only an instance")
    arguments = parser.parse_args()
    for _ in range(2):
        use_instance(control.load(arguments.library), arguments)
