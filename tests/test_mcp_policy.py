"""Which tools a policy refuses, with which reason, and what is said of a policy that cannot be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from openxr_agentic.mcp.limits.policy import Policy, PolicyError, Subject

TRUST_PAGE = Path(__file__).resolve().parents[1] / "docs" / "trust.md"


def subject(name="MyApp_move", groups=(), *, readable=True, app="", **hints):
    return Subject(name, tuple(groups), hints, readable, app)


def names_allowed(policy, subjects):
    return [each.name for each in subjects if policy.refusal(each) is None]


@pytest.mark.parametrize(
    ("rule", "given", "fits"),
    [
        ("MyApp_*", subject("MyApp_move"), True),
        ("MyApp_*", subject("myapp_move"), False),
        ("MyApp_mov", subject("MyApp_move"), False),
        ("MyApp_mov?", subject("MyApp_move"), True),
        ("MyApp_[dm]*", subject("MyApp_move"), True),
        ("*", subject("two\nlines"), True),
        ("tool:a:b", subject("a:b"), True),
        (" tool : MyApp_move ", subject("MyApp_move"), True),
        ("group:admin", subject(groups=["scene", "admin"]), True),
        ("group:adm*", subject(groups=["scene", "admin"]), True),
        ("group:admin", subject(groups=["Admin"]), False),
        ("group:*", subject(), False),
        ("app:Cube*", subject(app="Cube World"), True),
        ("app:Cube*", subject(app="Sphere World"), False),
        ("annotation:readOnlyHint", subject(readOnlyHint=True), True),
        ("annotation:readOnlyHint=true", subject(readOnlyHint=False), False),
        ("annotation:readOnlyHint=false", subject(readOnlyHint=False), True),
        ("annotation:openWorldHint = false", subject(openWorldHint=False), True),
    ],
)
def test_a_rule_fits_by_its_kind_and_pattern(rule: str, given: Subject, fits: bool) -> None:
    assert (Policy.load(deny=[rule]).refusal(given) is not None) is fits
    assert (Policy.load(allow=[rule]).refusal(given) is None) is fits


@pytest.mark.parametrize(
    ("hint", "given", "value"),
    [
        ("readOnlyHint", {}, False),
        ("destructiveHint", {}, True),
        ("idempotentHint", {}, False),
        ("openWorldHint", {}, True),
        ("destructiveHint", {"readOnlyHint": True}, False),
        ("idempotentHint", {"readOnlyHint": True}, True),
        ("openWorldHint", {"readOnlyHint": True}, True),
        # What an app says itself counts, also where MCP gives it no meaning.
        ("destructiveHint", {"readOnlyHint": True, "destructiveHint": True}, True),
        ("destructiveHint", {"destructiveHint": False}, False),
    ],
)
def test_an_absent_hint_is_what_mcp_says_and_reading_destroys_nothing(
    hint: str, given: dict[str, bool], value: bool
) -> None:
    said, other = str(value).lower(), str(not value).lower()
    assert Policy.load(allow=[f"annotation:{hint}={said}"]).refusal(subject(**given)) is None
    assert Policy.load(allow=[f"annotation:{hint}={other}"]).refusal(subject(**given)) is not None


def test_a_deny_rule_wins_over_an_allow_rule_and_an_empty_allow_list_allows_all() -> None:
    tools = [subject("MyApp_get"), subject("MyApp_set"), subject("Other_get")]
    assert names_allowed(Policy.load(deny=["*_set"]), tools) == ["MyApp_get", "Other_get"]
    assert names_allowed(Policy.load(allow=["MyApp_*"]), tools) == ["MyApp_get", "MyApp_set"]
    assert names_allowed(Policy.load(allow=["MyApp_*"], deny=["*_set"]), tools) == ["MyApp_get"]
    assert names_allowed(Policy.load(allow=["MyApp_get"], deny=["*"]), tools) == []
    assert names_allowed(Policy.load(), tools) == ["MyApp_get", "MyApp_set", "Other_get"]


def test_read_only_mode_leaves_only_tools_that_say_so_and_no_rule_adds_one() -> None:
    tools = [subject("reads", readOnlyHint=True), subject("writes", readOnlyHint=False), subject("silent")]
    assert names_allowed(Policy.load(read_only=True), tools) == ["reads"]
    assert names_allowed(Policy.load(read_only=True, allow=["*"]), tools) == ["reads"]
    assert names_allowed(Policy.load(read_only=True, deny=["reads"]), tools) == []


@pytest.mark.parametrize(
    "given",
    [
        subject(readable=False),
        subject(readOnlyHint="true", destructiveHint="false", idempotentHint=1, openWorldHint=None),
    ],
)
@pytest.mark.parametrize("hint", ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"])
def test_a_hint_that_cannot_be_read_is_refused_wherever_it_would_matter(given: Subject, hint: str) -> None:
    why = "metadata cannot be read" if not given.readable else f"{hint} is neither true nor false"
    for value in ("true", "false"):
        rule = f"annotation:{hint}={value}"
        assert why in (Policy.load(deny=[rule]).refusal(given) or "")
        assert why in (Policy.load(allow=[rule]).refusal(given) or "")
        assert Policy.load(allow=[rule, "MyApp_*"]).refusal(given) is None  # it does not matter: the name is enough
        assert "denies the tool" in (Policy.load(deny=[rule, "MyApp_*"]).refusal(given) or "")
    assert Policy.load(deny=["Other_*"]).refusal(given) is None


def test_unreadable_metadata_is_refused_by_group_rules_and_in_read_only_mode() -> None:
    given = subject(readable=False)
    for policy in (Policy.load(deny=["group:x"]), Policy.load(allow=["group:x"]), Policy.load(read_only=True)):
        assert "metadata cannot be read" in (policy.refusal(given) or "")
    assert "not all text" in (Policy.load(deny=["group:x"]).refusal(Subject("t", (1,), {})) or "")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (Policy.load(deny=["group:adm*"]), "its policy denies the group 'admin' (rule 'group:adm*')"),
        (Policy.load(deny=["MyApp_*"]), "its policy denies the tool 'MyApp_move' (rule 'MyApp_*')"),
        (Policy.load(deny=["app:Cube*"]), "its policy denies the app 'Cube World' (rule 'app:Cube*')"),
        (
            Policy.load(deny=["annotation:openWorldHint"]),
            "its policy denies tools with openWorldHint true (rule 'annotation:openWorldHint')",
        ),
        (
            Policy.load(deny=["annotation:destructiveHint"]),
            "its policy denies tools with destructiveHint true, which is what holds of a tool that does not say "
            "(rule 'annotation:destructiveHint')",
        ),
        (Policy.load(allow=["a", "group:b"]), "its policy allows only what fits 'a' or 'group:b'"),
        (
            Policy.load(allow=list("abcdefg")),
            "its policy allows only what fits 'a' or 'b' or 'c' or 'd' or 'e' or 2 more",
        ),
        (Policy.load(read_only=True), "it is in read-only mode, and the tool's readOnlyHint is not true"),
    ],
)
def test_the_reason_names_what_was_decided_by_which_rule(policy: Policy, reason: str) -> None:
    assert policy.refusal(subject(groups=["admin"], app="Cube World", openWorldHint=True)) == reason


def test_a_policy_without_rules_is_open_and_any_limit_closes_it() -> None:
    assert Policy().open
    assert Policy.load(allow=[], deny=[]).open
    for policy in (Policy.load(allow=["*"]), Policy.load(deny=["x"]), Policy.load(read_only=True)):
        assert not policy.open


def test_a_policy_describes_itself_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('read_only = true\ndeny = ["a", "b"]', encoding="utf-8")
    assert Policy.load().describe() == "every tool is allowed"
    assert Policy.load(allow=["a"]).describe() == "1 allow rule"
    assert Policy.load(file, allow=["c"]).describe() == f"read-only, 1 allow rule, 2 deny rules ({file})"


def test_options_add_to_the_file_and_never_take_away(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('\ufeffallow = ["one"]\ndeny = ["three"]\n', encoding="utf-8")
    tools = [subject("one", readOnlyHint=True), subject("two"), subject("three"), subject("four")]
    assert names_allowed(Policy.load(file), tools) == ["one"]
    assert names_allowed(Policy.load(file, allow=["*"]), tools) == ["one", "two", "four"]
    assert names_allowed(Policy.load(file, allow=["*"], deny=["two"]), tools) == ["one", "four"]
    assert names_allowed(Policy.load(file, allow=["*"], read_only=True), tools) == ["one"]
    file.write_text("read_only = true", encoding="utf-8")
    assert names_allowed(Policy.load(file, read_only=False), tools) == ["one"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("allow = [", ["is not TOML"]),
        ("readonly = true", ["no key 'readonly'", "'read_only'", "allow, deny"]),
        ("denied = []", ["no key 'denied'", "'deny'"]),
        ("[deny]\ntools = []", ["deny is {'tools': []}", 'deny = ["MyApp_*"]']),
        ('allow = "MyApp_*"', ["allow is 'MyApp_*'", "list of rules"]),
        ('read_only = "yes"', ["read_only is 'yes'", "true or false"]),
        ("read_only = 1", ["read_only is 1"]),
        ('deny = ["ok", 7]', ["deny, entry 2", "7 is no rule", "in quotes"]),
        ('deny = ["ok", "grup:admin"]', ["deny, entry 2", "'grup:admin'", "'group'", "tool:…"]),
        ('deny = [""]', ["deny, entry 1", "empty pattern"]),
        ('allow = ["group: "]', ["allow, entry 1", "'group: '", "empty pattern"]),
        ('allow = ["annotation:"]', ["empty pattern"]),
        ('allow = ["annotation:readonly"]', ["unknown annotation", "'readOnlyHint'", "openWorldHint"]),
        ('allow = ["annotation:readOnlyHint=yes"]', ["neither true nor false"]),
        ('allow = ["annotation:readOnlyHint="]', ["neither true nor false"]),
    ],
)
def test_a_mistake_in_the_file_is_an_error_that_names_file_place_and_remedy(
    tmp_path: Path, text: str, words: list[str]
) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(PolicyError) as caught:
        Policy.load(file)
    for word in (str(file), *words):
        assert word in str(caught.value)


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="none.toml cannot be read: No such file"):
        Policy.load(tmp_path / "none.toml")
    with pytest.raises(PolicyError, match="cannot be read: Is a directory"):
        Policy.load(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'deny = ["gr\xfcn"]')
    with pytest.raises(PolicyError, match="not UTF-8"):
        Policy.load(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("dney = []", "there is no key 'dney'; did you mean 'deny'? The keys are read_only, allow, deny."),
        ("xyzzy = []", "there is no key 'xyzzy'. The keys are read_only, allow, deny."),
    ],
)
def test_an_unknown_key_is_told_in_whole_sentences(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(text)
    with pytest.raises(PolicyError) as caught:
        Policy.load(file)
    assert str(caught.value) == f"{file}: {told}"


@pytest.mark.parametrize("option", ["allow", "deny"])
def test_a_mistake_in_an_option_names_the_option(option: str) -> None:
    with pytest.raises(PolicyError, match=f"^--{option}: the rule 'anotation:x'.*did you mean 'annotation'"):
        Policy.load(**{option: ["anotation:x"]})  # type: ignore[arg-type]


def toml_blocks() -> list[str]:
    return re.findall(r"```toml\n(.*?)```", TRUST_PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_every_policy_of_the_trust_page_loads(tmp_path: Path) -> None:
    assert toml_blocks()
    for number, block in enumerate(toml_blocks()):
        file = tmp_path / f"{number}.toml"
        file.write_text(block, encoding="utf-8")
        assert not Policy.load(file).open


def test_the_worked_example_of_the_trust_page_does_what_its_table_says(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(toml_blocks()[0], encoding="utf-8")
    policy = Policy.load(file)
    lines = TRUST_PAGE.read_text(encoding="utf-8").splitlines()
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in lines if re.search(r"\| (allowed|refused) ", line)
    ]
    assert len(rows) >= 4
    for name, groups, hints, outcome in rows:
        given = dict(pair.split("=") for pair in re.findall(r"`(\w+=\w+)`", hints))
        values = {hint: value == "true" for hint, value in given.items()}
        refused = policy.refusal(Subject(name.strip("`"), tuple(re.findall(r"`(\w+)`", groups)), values)) is not None
        assert refused is outcome.startswith("refused"), name
