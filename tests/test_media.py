"""Images and sounds as results of tools: what they may be made of, and the text that stands for them."""

import base64
import json
import os

import pytest

import openxr_agentic as agentic

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="
)
BEGINNINGS = [
    (agentic.Image, PNG, "image/png"),
    (agentic.Image, b"\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"),
    (agentic.Image, b"GIF87a\1\0", "image/gif"),
    (agentic.Image, b"GIF89a\1\0", "image/gif"),
    (agentic.Image, b"RIFF\x1a\0\0\0WEBPVP8L", "image/webp"),
    (agentic.Audio, b"RIFF\x26\0\0\0WAVEfmt ", "audio/wav"),
    (agentic.Audio, b"OggS\0\2", "audio/ogg"),
    (agentic.Audio, b"ID3\4\0\0", "audio/mpeg"),
    (agentic.Audio, b"\xff\xfb\x90\x64", "audio/mpeg"),
    (agentic.Audio, b"\xff\xf3\x40\xc4", "audio/mpeg"),
]


def take_screenshot() -> agentic.Image:
    """Return what the user sees now."""
    return agentic.Image(PNG)


@pytest.mark.parametrize(("kind", "data", "mime_type"), BEGINNINGS)
def test_the_first_bytes_tell_the_type(kind, data, mime_type):
    made = kind(data)
    assert (made.mime_type, made.data) == (mime_type, data)
    assert made.data_url() == f"data:{mime_type};base64,{base64.b64encode(data).decode()}"


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_what_holds_bytes_is_copied(kind):
    data = bytearray(PNG)
    made = agentic.Image(kind(data))
    data[-1] ^= 1
    assert made.data == PNG


def test_a_file_is_read_whatever_it_is_called(tmp_path):
    file = tmp_path / "bild.txt"
    file.write_bytes(PNG)
    assert agentic.Image.from_file(file) == agentic.Image(PNG) == agentic.Image.from_file(str(file))
    with pytest.raises(FileNotFoundError):
        agentic.Image.from_file(tmp_path / "missing.png")


def test_a_type_that_is_given_is_not_guessed_again():
    assert agentic.Image(b"something", "image/WebP").mime_type == "image/webp"
    assert agentic.Audio(b"something", mime_type="audio/mpeg").mime_type == "audio/mpeg"


@pytest.mark.parametrize(
    ("kind", "arguments", "words"),
    [
        (agentic.Image, (b"",), "Image: there are no bytes"),
        (agentic.Image, (b"", "image/png"), "Image: there are no bytes"),
        (
            agentic.Image,
            (b"\0" * 100,),
            r"which begin b'\\x00.*are of no known type. Encode them .*image/png, image/jpeg",
        ),
        (agentic.Image, (b"RIFF\x1a\0\0\0AVI LIST",), "are of no known type"),
        (agentic.Image, (b"RIFF\x26\0\0\0WAVEfmt ",), "Image: audio/wav is none of the types .*: image/png"),
        (agentic.Audio, (PNG,), "Audio: image/png is none of the types .*: audio/wav"),
        (agentic.Image, (PNG, "image/svg+xml"), r"Image: image/svg\+xml is none of the types"),
        (agentic.Image, ("shot.png",), r"must be the bytes of an encoded file, not str. Image.from_file"),
        (agentic.Image, (5,), "not int"),
    ],
)
def test_what_agents_could_not_be_sent_is_refused_with_the_reason(kind, arguments, words):
    with pytest.raises(agentic.ResultValueError, match=words):
        kind(*arguments)


def test_two_of_the_same_type_and_bytes_are_equal():
    assert agentic.Image(PNG) == agentic.Image(PNG)
    assert len({agentic.Image(PNG), agentic.Image(PNG)}) == 1
    assert agentic.Image(PNG) != agentic.Image(PNG, "image/gif")
    assert agentic.Image(PNG) != PNG
    assert repr(agentic.Image(PNG)) == f"<Image image/png, {len(PNG)} bytes>"


def test_an_agent_gets_an_image_as_one_data_url(registry, agent):
    registry.tool(take_screenshot)
    agent.attach(registry)
    assert registry.execute("take_screenshot") == agentic.Image(PNG)
    assert agent.text("take_screenshot") == agentic.Image(PNG).data_url()


def test_an_async_tool_may_return_a_sound(registry, agent):
    @registry.tool
    async def record() -> agentic.Audio:
        """Return what the microphone heard."""
        return agentic.Audio(b"OggS\0\2")

    agent.attach(registry)
    assert agent.text("record") == "data:audio/ogg;base64,T2dnUwAC"


def test_five_megabytes_travel_exactly(registry, agent):
    data = PNG + os.urandom(5_000_000)

    @registry.tool
    def take_large_screenshot() -> agentic.Image:
        """Return what the user sees now, in full."""
        return agentic.Image(data)

    agent.attach(registry)
    head, _, text = agent.text("take_large_screenshot").partition(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(text, validate=True) == data


@pytest.mark.parametrize(
    "annotation", [agentic.Image, agentic.Audio, agentic.Image | None, agentic.Image | dict, "agentic.Image"]
)
def test_a_tool_that_returns_an_image_promises_no_object(annotation):
    def tool():
        """Return an image."""

    tool.__annotations__ = {"return": annotation}
    assert agentic.define(tool).output_schema is None


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ([agentic.Image(PNG)], r"result\[0\]"),
        ({"shot": agentic.Image(PNG)}, r'result\["shot"\]'),
        ((1, [agentic.Audio(b"OggS")]), r"result\[1\]\[0\]"),
    ],
)
def test_an_image_inside_of_another_value_is_an_error_that_says_what_to_return(registry, agent, value, place):
    registry.register("shots", lambda: value, "Return all of them.")
    agent.attach(registry)
    with pytest.raises(AssertionError, match=rf"{place} is of type \w+, which agents .* by itself: return it alone"):
        agent.call("shots")


def test_the_data_url_itself_may_stand_anywhere(registry, agent):
    registry.register("shots", lambda: {"shot": agentic.Image(PNG).data_url()}, "Return all of them.")
    agent.attach(registry)
    assert json.loads(agent.text("shots")) == {"shot": agentic.Image(PNG).data_url()}


def test_bytes_stay_base64_text(registry, agent):
    registry.register("raw", lambda: PNG, "Return the bytes of an image.")
    agent.attach(registry)
    assert base64.b64decode(agent.call("raw")) == PNG


def test_an_image_cannot_be_a_parameter():
    def show(image: agentic.Image) -> str:
        """Show an image."""

    with pytest.raises(agentic.DefinitionError, match="image"):
        agentic.define(show)
