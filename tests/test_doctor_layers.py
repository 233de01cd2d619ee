"""The doctor on API layers: what the variables were meant to say, and lines that mend them as they are typed."""

import pytest
from doctor_harness import layer_manifest

from openxr_agentic.doctor import manifests


@pytest.fixture
def folder(tmp_path):
    return tmp_path


# ---- manifests


def broken_text(folder, text):
    path = folder / "layer.json"
    path.write_text(text, encoding="utf-8")
    return manifests.read(path, "api_layer").fault.text


def test_a_missing_quote_is_told_as_such_with_its_line(folder):
    text = broken_text(folder, '{\n  "a": "b,\n  "c": 1\n}')
    assert text == "is not JSON: a text lacks its closing quote: line 2 column 11"
    assert "a text lacks its closing quote: line 1 column 2" in broken_text(folder, '{"a')


def test_lines_are_counted_with_comments_in_them(folder):
    assert broken_text(folder, '{ /* a\n b */ // c\n "a": }') == "is not JSON: Expecting value: line 3 column 7"


def test_the_librarys_path_is_shown_without_detours_unless_they_lead_elsewhere(folder):
    path = layer_manifest(folder / "share" / "one.json", "../lib/./one.so")
    assert manifests.read(path, "api_layer").library == folder / "lib" / "one.so"
    (folder / "far" / "away").mkdir(parents=True)
    (folder / "share" / "link").symlink_to(folder / "far" / "away")
    path = layer_manifest(folder / "share" / "one.json", "link/../one.so")
    assert manifests.read(path, "api_layer").library == folder / "share" / "link" / ".." / "one.so"
