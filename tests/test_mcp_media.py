"""A tool's text as an image or a sound for agents."""

import base64

import pytest

pytest.importorskip("mcp")

from agent_harness import run, serving, until_connected
from fake_app import Answer, FakeApp
from mcp_types import AudioContent, ImageContent, TextContent

import openxr_agentic as agentic
from openxr_agentic.mcp.answering.media import media_content

DATA = "aGVsbG8="  # "hello"


@pytest.mark.parametrize("mime_type", agentic.Image.MIME_TYPES)
def test_an_image_of_every_type_of_the_library_is_one(mime_type):
    text = agentic.Image(b"hello", mime_type).data_url()
    assert media_content(text) == ImageContent(type="image", data=DATA, mime_type=mime_type)


@pytest.mark.parametrize("mime_type", agentic.Audio.MIME_TYPES)
def test_a_sound_of_every_type_of_the_library_is_one(mime_type):
    text = agentic.Audio(b"hello", mime_type).data_url()
    assert media_content(text) == AudioContent(type="audio", data=DATA, mime_type=mime_type)


@pytest.mark.parametrize("size", range(1, 8))
def test_data_of_every_padding_is_passed_on_as_it_is(size):
    data = base64.b64encode(bytes(range(size))).decode()
    assert media_content(f"data:image/png;base64,{data}").data == data


@pytest.mark.parametrize(
    "text",
    [
        "",
        "data:",
        "a text",
        DATA,
        f"data:text/plain;base64,{DATA}",
        f"data:image/svg+xml;base64,{DATA}",
        f"data:application/octet-stream;base64,{DATA}",
        f"data:;base64,{DATA}",
        f"data:image/png;charset=utf-8;base64,{DATA}",
        f"data:image/png,{DATA}",
        f"data:image/png;base64{DATA}",
        "data:image/png;base64,",
        f" data:image/png;base64,{DATA}",
        f"data:image/png;base64,{DATA}\n",
        f"data:image/png;base64, {DATA}",
        f"data:image/png;base64,{DATA}{DATA}",
        "data:image/png;base64,aGVsbG8",
        "data:image/png;base64,aGVsbG8==",
        "data:image/png;base64,aGVsbG8=====",
        "data:image/png;base64,aGVs\nbG8=",
        "data:image/png;base64,a-_sbG8=",
        "data:image/png;base64,aGVsbG8é",
        "data:image/png;base64,====",
        f"data:image/png;base64,{DATA} and more",
        f"Here it is: data:image/png;base64,{DATA}",
        f'"data:image/png;base64,{DATA}"',
        f"DATA:image/png;base64,{DATA}",
        f"data:IMAGE/PNG;base64,{DATA}",
        "data:image/png" + "x" * 100 + f";base64,{DATA}",
    ],
)
def test_every_other_text_stays_a_text(text):
    assert media_content(text) is None


def test_an_agent_gets_image_content_and_every_other_text_as_text(folder):
    large = base64.b64encode(bytes(5_000_000)).decode()
    answers = {
        "image": f"data:image/png;base64,{DATA}",
        "large": f"data:image/png;base64,{large}",
        "sound": f"data:audio/wav;base64,{DATA}",
        "words": f"See data:image/png;base64,{DATA}",
        "failed": Answer(f"data:image/png;base64,{DATA}", flags=1),
    }
    app = FakeApp()
    for name, answer in answers.items():

        async def tool(arguments, answer=answer):
            return answer

        # Metadata, so that the tool's app is one that marks errors.
        app.add(name, tool, metadata="{}")

    async def scenario():
        async with app.running(folder), serving() as server:
            await until_connected(server)
            async with server.client() as client:
                got = {name: await client.call_tool(name, {}) for name in answers}
        assert [result.is_error for result in got.values()] == [False, False, False, False, True]
        assert got["image"].content == [ImageContent(type="image", data=DATA, mime_type="image/png")]
        assert got["large"].content == [ImageContent(type="image", data=large, mime_type="image/png")]
        assert got["sound"].content == [AudioContent(type="audio", data=DATA, mime_type="audio/wav")]
        assert got["words"].content == [TextContent(type="text", text=answers["words"])]
        assert got["failed"].content == [TextContent(type="text", text=answers["image"])]

    run(scenario())
