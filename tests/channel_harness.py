"""An app with a control channel in a process of its own, and a bare stream to it."""

import asyncio
import contextlib
import signal
import struct
import subprocess
from pathlib import Path

import host_programs

from openxr_agentic.host.channel import ChannelClient
from openxr_agentic.host.frames import FrameSplitter, encode, encode_hello


class ChannelApp:
    """``native/channel_app.c``, running."""

    def __init__(self, folder, **environment):
        self.folder = Path(folder)
        variables = {"XDG_RUNTIME_DIR": str(folder), "OPENXR_AGENTIC_CHANNEL": "1", **environment}
        self.process = subprocess.Popen(
            [host_programs.build("channel_app", "memory" if host_programs.works("memory") else "plain")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
            env=host_programs.environment(**variables),
        )
        self._errors = None
        word, pid = self.process.stdout.readline().split()
        assert (word, int(pid)) == ("ready", self.process.pid)

    @property
    def pid(self):
        return self.process.pid

    @property
    def socket(self):
        return self.folder / "openxr-agentic" / f"{self.pid}.sock"

    def tell(self, line):
        """Have the app do something, and return its answer."""
        self.process.stdin.write(line + "\n")
        return self.process.stdout.readline().strip()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self):
        """End the app as it ends by itself, and return what it wrote to stderr."""
        if self._errors is None:
            ended_by_test = self.process.poll() is not None
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.write("open\nquit\n")
            _, self._errors = self.process.communicate()
            assert ended_by_test or self.process.returncode == 0, self._errors
        return self._errors

    def connect(self):
        return ChannelClient.connect(self.socket)

    @contextlib.asynccontextmanager
    async def client(self):
        client = await self.connect()
        try:
            yield client
        finally:
            await client.close()


class Stream:
    """A connection that sends whatever a test wants, frames or not."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self._splitter = FrameSplitter()
        self._frames = []

    @classmethod
    async def open(cls, app, *, greet=True):
        stream = cls(*await asyncio.open_unix_connection(app.socket))
        if greet:
            stream.send(encode_hello(1))
            await stream.frame()
        return stream

    def send(self, data):
        self.writer.write(data)

    async def frame(self):
        """The next frame; None when the app has hung up."""
        while not self._frames:
            try:
                data = await self.reader.read(1 << 20)
            except ConnectionError:
                return None
            if not data:
                return None
            self._frames += self._splitter.feed(data)
        return self._frames.pop(0)

    async def close(self):
        self.writer.close()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()


def text(value):
    return struct.pack("<I", len(value)) + value


def call_frame(request_id, tool, arguments=b"{}", milliseconds=0):
    return encode(3, request_id, struct.pack("<I", milliseconds) + text(tool) + text(arguments))
