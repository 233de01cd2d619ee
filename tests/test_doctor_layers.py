"""The doctor on API layers: what the variables were meant to say, and lines that mend them as they are typed."""

import os
import re
import shlex
import subprocess

import doctor_harness
import pytest
from doctor_harness import EXTENSION, all_of, findings, layer_manifest, library

from openxr_agentic import doctor, host, loader
from openxr_agentic.doctor import enabled_layers, environment, layer_path, layers, manifests, offer, repeated_layers
from openxr_agentic.doctor.findings import Severity, export
from openxr_agentic.host import LAYER_NAME

OURS = str(host.layer_manifest_path().parent)
ONE, TWO = "XR_APILAYER_TEST_one", "XR_APILAYER_TEST_two"


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setattr(loader, "pyopenxr_layers", lambda: None)
    return doctor_harness.isolate(monkeypatch, tmp_path)


@pytest.fixture
def one(folder):
    """A folder with a layer."""
    return layer_manifest(folder / "one" / "one.json", library(folder / "libone.so")).parent


def set_path(monkeypatch, *entries):
    monkeypatch.setenv("XR_API_LAYER_PATH", os.pathsep.join(map(str, entries)))


def enable(monkeypatch, *names):
    monkeypatch.setenv("XR_ENABLE_API_LAYERS", os.pathsep.join(names))


def path_line(*folders):
    return f"export XR_API_LAYER_PATH={os.pathsep.join(map(str, folders))}"


def finding_of(identifier, *checks):
    return findings(*checks)[identifier]


# ---- lines to be typed


@pytest.mark.parametrize("value", ["/plain:/b", "/sp ace", "/it's", '/"$HOME"`id`', "/a;b", "/*", "~/x", "/é\n"])
def test_a_line_to_be_typed_sets_the_value_whatever_is_in_it(value):
    typed = f'{export("X", value)}; printf %s "$X"'
    assert subprocess.run(["sh", "-c", typed], capture_output=True, text=True, check=True).stdout == value


def test_a_plain_value_is_not_quoted_and_an_empty_one_unsets():
    assert export("X", "/a:/b") == "export X=/a:/b"
    assert export("X", "") == "unset X"


# ---- XR_API_LAYER_PATH


def test_the_line_that_mends_an_entry_keeps_the_others_in_their_order_and_each_once(folder, monkeypatch, one):
    (folder / "empty").mkdir()
    set_path(monkeypatch, folder / "empty", one / "one.json", folder / "gone", "/usr", one, "/usr")
    found = findings(layer_path.check_entries)
    line = path_line(folder / "empty", one, "/usr")
    assert found["layers.path-is-file"].remedy == line
    assert found["layers.path-missing"].remedy == f"Make that folder, or leave it out: {line}"


def test_the_lines_of_several_wrong_entries_are_one(folder, monkeypatch, one):
    two = layer_manifest(folder / "two" / "two.json", library(folder / "libtwo.so"), TWO)
    set_path(monkeypatch, one / "one.json", two)
    assert {finding.remedy for finding in all_of(layer_path.check_entries)} == {path_line(one, two.parent)}


def test_a_folder_with_a_blank_in_its_name_is_quoted(folder, monkeypatch):
    path = layer_manifest(folder / "sp ace" / "one.json", library(folder / "libone.so"))
    set_path(monkeypatch, path)
    remedy = finding_of("layers.path-is-file", layer_path.check_entries).remedy
    assert remedy == f"export XR_API_LAYER_PATH='{path.parent}'"


@pytest.mark.parametrize("identifier", ["path-is-file", "path-missing", "path-empty"])
def test_an_entry_without_layers_is_a_problem_only_where_an_enabled_layer_is_not_found(
    folder, monkeypatch, one, identifier
):
    (folder / "empty").mkdir()
    entry = {"path-is-file": one / "one.json", "path-missing": folder / "gone", "path-empty": folder / "empty"}
    set_path(monkeypatch, entry[identifier], one)
    enable(monkeypatch, ONE)
    assert finding_of(f"layers.{identifier}", layer_path.check_entries).severity is Severity.WARNING
    enable(monkeypatch, ONE, TWO)
    assert finding_of(f"layers.{identifier}", layer_path.check_entries).severity is Severity.PROBLEM


def test_an_entry_that_depends_on_where_the_app_is_started_is_a_warning_with_the_whole_path(folder, monkeypatch, one):
    monkeypatch.chdir(folder)
    set_path(monkeypatch, "/usr", "one")
    finding = finding_of("layers.relative", layer_path.check_entries)
    assert finding.severity is Severity.WARNING
    assert finding.remedy == path_line("/usr", one)
    set_path(monkeypatch, "gone")
    assert f"It was looked for in {folder}." in finding_of("layers.path-missing", layer_path.check_entries).what


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("{0};{1}", "Entries are separated by ':', not by ';'."),
        (" {0}; {1}", "begins or ends with a blank"),
        ("~/../one;{1};", "begins with '~'"),
    ],
)
def test_an_entry_is_told_what_it_looks_like_with_the_line_that_was_meant(folder, monkeypatch, one, entry, text):
    two = layer_manifest(folder / "two" / "two.json", library(folder / "libtwo.so"), TWO).parent
    set_path(monkeypatch, entry.format(one, two))
    finding = finding_of("layers.path-missing", layer_path.check_entries)
    assert text in finding.what
    assert finding.remedy == path_line(one, two)


def test_a_blank_entry_is_not_taken_for_the_folder_that_the_doctor_is_started_in(monkeypatch, one):
    set_path(monkeypatch, " ", one)
    assert finding_of("layers.path-missing", layer_path.check_entries).remedy.endswith(path_line(one))


def test_hidden_folders_are_added_behind_the_entries_as_they_were_meant(folder, monkeypatch, one):
    hidden = folder / "etc" / "openxr" / "1" / "api_layers" / "explicit.d"
    layer_manifest(hidden / "two.json", library(folder / "libtwo.so"), TWO)
    set_path(monkeypatch, "/usr", one / "one.json", "/usr")
    assert finding_of("layers.path-replaces", layer_path.check_default_places).remedy == path_line("/usr", one, hidden)
    enable(monkeypatch, TWO)
    assert finding_of("layers.not-found", *enabled_layers.CHECKS).remedy == path_line("/usr", one, hidden)


def test_a_layer_is_found_once_without_taking_away_folders_that_have_none(folder, monkeypatch, one):
    other = layer_manifest(folder / "other" / "one.json", library(folder / "libtwo.so")).parent
    (folder / "empty").mkdir()
    set_path(monkeypatch, folder / "empty", one, other)
    enable(monkeypatch, ONE)
    finding = finding_of("layers.found-twice", repeated_layers.check_found_twice)
    assert finding.remedy == path_line(folder / "empty", one)


# ---- XR_ENABLE_API_LAYERS


def test_our_own_layer_is_found_with_the_line_that_adds_its_folder(folder, monkeypatch, one):
    enable(monkeypatch, LAYER_NAME)
    assert finding_of("layers.not-found", *enabled_layers.CHECKS).remedy == path_line(OURS)
    set_path(monkeypatch, one / "one.json", "/usr")
    assert finding_of("layers.not-found", *enabled_layers.CHECKS).remedy == path_line(OURS, one, "/usr")


def test_a_layer_that_a_wrong_entry_leads_to_is_found_with_the_line_that_mends_the_entry(monkeypatch, one):
    set_path(monkeypatch, "/usr", one / "one.json")
    enable(monkeypatch, ONE)
    assert finding_of("layers.not-found", *enabled_layers.CHECKS).remedy == path_line("/usr", one)


def test_our_own_layer_that_is_not_built_is_told_how_to_build(monkeypatch):
    enable(monkeypatch, LAYER_NAME)
    monkeypatch.setattr(host, "_SUFFIX", ".missing")
    assert "is not built" in finding_of("layers.not-found", *enabled_layers.CHECKS).remedy


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("XR_APILAYER_TEST_onne", [ONE]),
        ("xr_apilayer_test_ONE", [ONE]),
        ("TEST_one", [ONE]),
        (f" {ONE}", [ONE]),
        (f"{ONE},", [ONE]),
        (f"{ONE},{TWO}", [ONE, TWO]),
        ("XR_APILAYER_NOVENDOR_openxr_agentik", [LAYER_NAME]),
    ],
)
def test_a_name_that_is_near_is_asked_for_with_the_line_that_names_it(folder, monkeypatch, one, name, meant):
    layer_manifest(one / "two.json", library(folder / "libtwo.so"), TWO)
    set_path(monkeypatch, one)
    enable(monkeypatch, TWO, name)
    finding = finding_of("layers.not-found", *enabled_layers.CHECKS)
    assert f"Did you mean {' and '.join(meant)}?" in finding.what
    names = os.pathsep.join(dict.fromkeys([TWO, *meant]))
    assert finding.remedy == f"export XR_ENABLE_API_LAYERS={names}"


def test_a_name_that_is_like_no_other_is_not_guessed(monkeypatch, one):
    set_path(monkeypatch, one)
    enable(monkeypatch, TWO)
    finding = finding_of("layers.not-found", *enabled_layers.CHECKS)
    assert "mean" not in finding.what
    assert f"Found are: {ONE}." in finding.remedy


def test_a_blank_before_a_name_is_not_taken_for_a_separator(monkeypatch):
    enable(monkeypatch, f" {ONE}")
    what = finding_of("layers.not-found", *enabled_layers.CHECKS).what
    assert "It begins or ends with a blank." in what
    assert "separated" not in what


def test_a_layer_that_is_not_found_may_be_that_of_a_manifest_that_cannot_be_read(folder, monkeypatch, one):
    broken = one / "a.json"
    broken.write_text("{", encoding="utf-8")
    set_path(monkeypatch, one)
    assert "nothing else depends on it" in finding_of("layers.not-json", layers.check_layers).why
    enable(monkeypatch, TWO)
    finding = finding_of("layers.not-found", *enabled_layers.CHECKS)
    assert f"It may be that of {broken}, whose name cannot be read" in finding.what
    assert finding.remedy.startswith(f"Mend {broken}; or put")
    assert finding.remedy.endswith(f"Found are: {ONE}.")
    warning = finding_of("layers.not-json", layers.check_layers)
    assert (
        warning.why == f"The loader passes over it. It may be what XR_ENABLE_API_LAYERS names and is not found: {TWO}."
    )


# ---- the layer that offers the extension


def test_a_layer_is_enabled_above_the_others_and_the_folders_that_are_given_stay(folder, monkeypatch, one):
    set_path(monkeypatch, "/usr", one, OURS)
    enable(monkeypatch, ONE)
    monkeypatch.setattr(offer, "ask", lambda *_: offer.Answer(()))
    finding = finding_of("offer.layer-not-enabled", offer.check_offer)
    names = f"export XR_ENABLE_API_LAYERS={LAYER_NAME}:{ONE}"
    assert finding.remedy == f"{path_line('/usr', one, OURS)}; {names}"


def test_a_layer_of_the_default_places_is_enabled_with_those_places(folder, monkeypatch):
    place = folder / "etc" / "openxr" / "1" / "api_layers" / "explicit.d"
    layer_manifest(place / "one.json", library(folder / "libone.so"), ONE, [EXTENSION])
    (layer,) = layers.found()
    assert enabled_layers.how_to_enable(layer) == f"{path_line(place)}; export XR_ENABLE_API_LAYERS={ONE}"


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


# ---- severities


def test_rights_that_no_variable_suffers_from_are_no_problem(monkeypatch):
    monkeypatch.setattr(environment, "elevated", lambda: "it runs with the rights of user 0")
    monkeypatch.setenv("XDG_DATA_DIRS", "/usr/share")
    assert [finding.severity for finding in all_of(environment.check_elevation)] == [Severity.WARNING]


def test_a_check_of_layers_that_fails_itself_is_told_among_the_layers(monkeypatch):
    def fail():
        raise KeyError("broken")

    monkeypatch.setattr(layer_path, "CHECKS", (fail,))
    monkeypatch.setattr(offer, "ask", lambda *_: offer.Answer(()))
    assert "layers.check-failed" in [finding.id for finding in doctor.examine()]


def test_every_line_shown_is_one_that_a_shell_takes_apart_as_it_was_meant(folder, monkeypatch):
    odd = layer_manifest(folder / "it's $HOME" / "one.json", library(folder / "libone.so"))
    set_path(monkeypatch, odd, odd.parent, folder / "gone")
    enable(monkeypatch, ONE, LAYER_NAME)
    checks = (*layer_path.CHECKS, *layers.CHECKS, *repeated_layers.CHECKS, *enabled_layers.CHECKS)
    lines = [found[0] for finding in all_of(*checks) if (found := re.search(r"export .*", finding.remedy))]
    assert len(lines) == 3
    for line in lines:
        assert shlex.split(line)[1].endswith(str(odd.parent))
