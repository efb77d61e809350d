"""Policies: the built-in ones, the quality each gives a row, and reading one from TOML."""

import math
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_trust.errors import PolicyError
from a2a_trust.model import DIMENSIONS, ROW_VERSION, Details, Dimension, Policy, Role, Row
from a2a_trust.policy import (
    BUILT_IN,
    SEED,
    STANDARD,
    is_coordination,
    load_policy,
    parse_policy,
    quality_of,
    to_toml,
    weight_of,
)

both = pytest.mark.parametrize("policy", [STANDARD, SEED], ids=["standard", "seed"])

# Kind of evidence, its quality under `standard` and under `seed`; the numbers that a policy does not compute.
QUALITIES = [
    ("task-completed", 1.0, 1.0),
    ("tool-success", 0.8, 0.8),
    ("tool-error", 0.0, 0.0),
    ("message-sent", 0.7, 0.7),
    ("task-reopened", 0.0, None),
    ("answer-accepted", 0.8, None),
    ("answer-abandoned", 0.0, None),
    ("juror-present", 1.0, None),
    ("juror-absent", 0.0, None),
    ("citation-verified", 1.0, None),
    ("citation-misplaced", 0.25, None),
    ("citation-mismatch", 0.0, None),
    ("seal-broken", 0.0, None),
    ("ballot-changed", 0.0, None),
    ("identity-mismatch", 0.0, None),
    ("verdict-confirmed", 1.0, None),
    ("verdict-overruled", 0.0, None),
]
OBSERVATIONS = [
    "member-registered",
    "spawn-failed",
    "run-started",
    "run-ended",
    "run-stopped",
    "tool-unattributable",
    "response-unattributable",
    "call-unanswered",
    "task-released",
    "task-deleted",
    "message-delivered",
    "exit-code",
    "model-seen",
    "policy",
]
COORDINATION = [
    "team_task_create",
    "team_task_update",
    "team_task_list",
    "team_",
    "spawn_teammate",
    "send_message",
    "followup_task",
    "wait_agent",
    "list_agents",
    "interrupt_agent",
    "todo_write",
]
WORK = [
    "bash",
    "read",
    "write",
    "edit",
    "team",
    "teamwork",
    "my_team_task",
    "todo_write2",
    "wait_agents",
    "SEND_MESSAGE",
]


def row(
    kind: str, dim: Dimension | None = Dimension.COMPETENCE, role: Role | None = Role.TEAMMATE, **details: object
) -> Row:
    """A row of a kind as it comes from attribution."""
    evidence = Details(role=role, **details)
    return Row(v=ROW_VERSION, id="x", time=1, session="s", gen=0, seq=1, pos=0, kind=kind, dim=dim, evidence=evidence)


def parse(text: str) -> Policy:
    """The policy that a TOML text gives."""
    return parse_policy(tomllib.loads(text), "my.toml")


def refusal(text: str) -> str:
    """Why a TOML text is refused."""
    with pytest.raises(PolicyError) as caught:
        parse(text)
    return str(caught.value)


# ---------------------------------------------------------------------- the built-in policies


@both
def test_built_in_policies_share_the_arithmetic(policy: Policy) -> None:
    """Both weigh good news by a tenth, bad news by three tenths, and need five samples."""
    assert (policy.alpha_good, policy.alpha_bad, policy.min_samples) == (0.10, 0.30, 5)


@both
def test_built_in_policies_weigh_all_dimensions_the_same(policy: Policy) -> None:
    """The four dimensions have equal weights."""
    assert {dim: weight_of(policy, dim) for dim in DIMENSIONS} == dict.fromkeys(DIMENSIONS, 1.0)


def test_a_dimension_without_a_weight_weighs_nothing() -> None:
    """What a policy does not list is not in the total."""
    assert weight_of(msgspec.structs.replace(STANDARD, weights={}), Dimension.COMPETENCE) == 0.0


def test_built_in_policies_know_the_kinds_of_the_table() -> None:
    """Both policies have the kinds of the table above and no others; a best rating is worth 1."""
    assert STANDARD.quality == {kind: quality for kind, quality, _ in QUALITIES} | {"feedback": 1.0, "judged": 1.0}
    assert SEED.quality == {kind: quality for kind, _, quality in QUALITIES if quality is not None}


@pytest.mark.parametrize(("kind", "standard", "seed"), QUALITIES)
def test_quality_by_kind(kind: str, standard: float, seed: float | None) -> None:
    """Each kind of evidence has its quality under `standard`, and under `seed` only what the seed rules know."""
    found = [quality_of(policy, row(kind, tool="bash"), supported=True) for policy in (STANDARD, SEED)]
    assert found == [standard, seed]


@both
@pytest.mark.parametrize("kind", OBSERVATIONS)
def test_observations_have_no_quality(policy: Policy, kind: str) -> None:
    """A row without a dimension moves no score, whatever its kind."""
    assert quality_of(policy, row(kind, None), supported=True) is None


@both
@pytest.mark.parametrize("kind", [kind for kind, _, _ in QUALITIES])
def test_a_row_without_a_dimension_has_no_quality(policy: Policy, kind: str) -> None:
    """Evidence is what has a dimension: the kind alone makes none."""
    assert quality_of(policy, row(kind, None), supported=True) is None


@both
def test_an_unknown_kind_has_no_quality(policy: Policy) -> None:
    """What a policy has no number for is recorded and not folded."""
    assert quality_of(policy, row("haiku-written"), supported=True) is None


@pytest.mark.parametrize(("supported", "expected"), [(True, [1.0, 1.0]), (False, [None, 1.0])])
@pytest.mark.parametrize("dim", [Dimension.COMPETENCE, Dimension.RELIABILITY])
def test_a_completion_needs_work_under_standard(
    dim: Dimension, *, supported: bool, expected: list[float | None]
) -> None:
    """Without a work call of its owner a completed task counts under `seed` only, in either dimension."""
    done = row("task-completed", dim)
    assert [quality_of(policy, done, supported=supported) for policy in (STANDARD, SEED)] == expected


@pytest.mark.parametrize("kind", [kind for kind, _, _ in QUALITIES if kind != "task-completed"])
def test_only_completions_need_work(kind: str) -> None:
    """No other kind asks whether its agent is known to have worked."""
    answers = {quality_of(STANDARD, row(kind), supported=supported) for supported in (True, False)}
    assert len(answers) == 1


@pytest.mark.parametrize(
    ("role", "expected"),
    [(Role.TEAMMATE, [0.8, 0.8]), (Role.SUBAGENT, [0.8, None]), (Role.MAIN, [0.8, None]), (None, [None, None])],
)
def test_roles_that_are_scored(role: Role | None, expected: list[float | None]) -> None:
    """`seed` scores teammates, `standard` every role, and neither a row whose role is not known."""
    found = [quality_of(policy, row("tool-success", role=role), supported=False) for policy in (STANDARD, SEED)]
    assert found == expected


@pytest.mark.parametrize("kind", ["tool-success", "tool-error"])
@pytest.mark.parametrize("tool", COORDINATION)
def test_coordination_calls_count_under_seed_only(kind: str, tool: str) -> None:
    """Board, mailbox, waiting, spawning and lists are no work under `standard`."""
    found = [quality_of(policy, row(kind, tool=tool), supported=False) for policy in (STANDARD, SEED)]
    assert found == [None, SEED.quality[kind]]


@both
@pytest.mark.parametrize("tool", WORK)
def test_work_calls_count(policy: Policy, tool: str) -> None:
    """Everything else is work, also what is merely named like a coordination tool."""
    assert quality_of(policy, row("tool-success", tool=tool), supported=False) == 0.8


@pytest.mark.parametrize(
    ("names", "tool", "expected"),
    [
        (("wait",), "wait", True),
        (("wait",), "waiter", False),
        (("wait*",), "wait", True),
        (("wait*",), "waiter", True),
        (("wait*",), "await", False),
        (("*",), "anything", True),
        (("*",), None, False),
        ((), "wait", False),
    ],
)
def test_a_star_at_the_end_stands_for_any_rest(names: tuple[str, ...], tool: str | None, *, expected: bool) -> None:
    """A listed name is the whole name, or what begins it where it ends in a star."""
    policy = msgspec.structs.replace(STANDARD, coordination_tools=names)
    assert is_coordination(policy, tool) is expected


@both
@pytest.mark.parametrize(
    ("ms", "expected"),
    [
        (0, 1.0),
        (1, 1.0),
        (59_999, 1.0),
        (60_000, 1.0),
        (60_001, 0.5),
        (600_000, 0.5),
        (600_001, 0.0),
        (10**12, 0.0),
        (None, None),
    ],
)
def test_quality_by_latency(policy: Policy, ms: int | None, expected: float | None) -> None:
    """Up to a minute is prompt, up to ten minutes is half, more is late; a limit itself is still within."""
    answer = row("response-latency", Dimension.COMMUNICATION, ms=ms)
    assert quality_of(policy, answer, supported=False) == expected


@pytest.mark.parametrize(("ms", "expected"), [(10, 0.9), (11, 0.6), (20, 0.6), (21, 0.3)])
def test_latency_steps_are_the_policys(ms: int, expected: float) -> None:
    """Limits and numbers of answers come from the policy."""
    policy = msgspec.structs.replace(STANDARD, latency=((10, 0.9), (20, 0.6)), latency_beyond=0.3)
    answer = row("response-latency", Dimension.COMMUNICATION, ms=ms)
    assert quality_of(policy, answer, supported=False) == expected


@pytest.mark.parametrize("dim", DIMENSIONS)
@pytest.mark.parametrize(("rating", "expected"), [(1, 0.0), (2, 0.25), (3, 0.5), (4, 0.75), (5, 1.0), (None, None)])
def test_quality_by_rating(dim: Dimension, rating: int | None, expected: float | None) -> None:
    """Ratings from 1 to 5 are spread evenly over [0, 1], in any dimension."""
    assert quality_of(STANDARD, row("feedback", dim, rating=rating), supported=False) == expected


def test_ratings_do_not_count_under_seed() -> None:
    """The seed rules know no feedback."""
    assert quality_of(SEED, row("feedback", rating=5), supported=False) is None


def test_a_best_rating_is_worth_what_the_policy_says() -> None:
    """The quality of `feedback` is that of five out of five; the others go down evenly from there."""
    policy = msgspec.structs.replace(STANDARD, quality={"feedback": 0.8})
    found = [quality_of(policy, row("feedback", rating=rating), supported=False) for rating in (1, 3, 5)]
    assert found == [0.0, 0.4, 0.8]


@both
@pytest.mark.parametrize("role", [*Role, None])
def test_a_quality_that_came_with_a_row_stays(policy: Policy, role: Role | None) -> None:
    """What another store judged is history: no policy changes it."""
    assert quality_of(policy, row("tool-error", role=role, tool="todo_write", given=0.45), supported=False) == 0.45


# ---------------------------------------------------------------------- reading TOML


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_policy_is_found_by_name(name: str) -> None:
    """The names of the built-in policies need no file."""
    assert load_policy(name) is BUILT_IN[name]


def test_an_empty_file_is_standard_by_another_name() -> None:
    """A file states only what differs; the base is `standard` unless it says otherwise."""
    assert parse("") == msgspec.structs.replace(STANDARD, name="standard-variant")


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_base_is_taken_over(name: str) -> None:
    """The key `base` names the built-in policy that all other keys come from."""
    assert parse(f'base = "{name}"') == msgspec.structs.replace(BUILT_IN[name], name=f"{name}-variant")


def test_every_key_can_be_set() -> None:
    """Each number and switch of a policy has a key of its name."""
    text = """
        base = "seed"
        name = "mine"
        alpha_good = 0.2
        alpha_bad = 0.4
        min_samples = 7
        roles = ["main", "subagent"]
        latency = [[1000, 0.9], [2000, 0.6]]
        latency_beyond = 0.1
        completion_needs_work = true
        coordination_tools = ["board_*"]
        [weights]
        competence = 2.5
        reliability = 0.5
        communication = 0.25
        integrity = 0.125
        [quality]
        task-completed = 0.9
        tool-success = 0.7
        tool-error = 0.1
        message-sent = 0.6
        haiku-written = 0.75
    """
    assert parse(text) == Policy(
        name="mine",
        alpha_good=0.2,
        alpha_bad=0.4,
        min_samples=7,
        weights=dict(zip(DIMENSIONS, (2.5, 0.5, 0.25, 0.125), strict=True)),
        roles=(Role.MAIN, Role.SUBAGENT),
        quality={
            "task-completed": 0.9,
            "tool-success": 0.7,
            "tool-error": 0.1,
            "message-sent": 0.6,
            "haiku-written": 0.75,
        },
        latency=((1000, 0.9), (2000, 0.6)),
        latency_beyond=0.1,
        completion_needs_work=True,
        coordination_tools=("board_*",),
    )


def test_tables_are_merged_key_by_key() -> None:
    """One quality of a table leaves the others as they were."""
    found = parse("[quality]\ntool-success = 0.9\n[weights]\nintegrity = 3.0")
    expected = msgspec.structs.replace(
        STANDARD,
        name="standard-variant",
        quality={**STANDARD.quality, "tool-success": 0.9},
        weights={**STANDARD.weights, Dimension.INTEGRITY: 3.0},
    )
    assert found == expected


def test_a_kind_can_be_taken_out() -> None:
    """A quality of `false` leaves a kind out that the base folds."""
    assert "task-reopened" not in parse("quality.task-reopened = false").quality


def test_lists_are_replaced() -> None:
    """A list is what the file says, and nothing of the base's."""
    assert parse('coordination_tools = ["board"]').coordination_tools == ("board",)


def test_reading_leaves_the_built_in_policies_alone() -> None:
    """What a file merges into is a copy."""
    before = msgspec.json.encode(STANDARD)
    parse("alpha_good = 0.9\n[quality]\ntool-success = 0.1\n[weights]\nintegrity = 9.0")
    assert msgspec.json.encode(STANDARD) == before


def test_whole_numbers_become_fractions() -> None:
    """A weight or a quality written as 1 is the same number as 1.0, so that it is stored with its point."""
    found = parse("alpha_good = 1\n[quality]\ntool-error = 1\n[weights]\nintegrity = 2")
    numbers = [found.alpha_good, found.quality["tool-error"], found.weights[Dimension.INTEGRITY]]
    assert [type(number) for number in numbers] == [float] * 3


def test_a_policy_is_read_from_a_file(tmp_path: Path) -> None:
    """A path, as text or not, is read as TOML."""
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\nmin_samples = 3', encoding="utf-8")
    expected = msgspec.structs.replace(STANDARD, name="mine", min_samples=3)
    assert [load_policy(file), load_policy(str(file))] == [expected, expected]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"alpha_good = ", "not readable as TOML"),
        (b"\xff\xfe", "not readable as TOML"),
        (b"min_samples = 1\nmin_samples = 2", "not readable as TOML"),
    ],
)
def test_a_file_that_is_no_toml_is_refused(tmp_path: Path, content: bytes, told: str) -> None:
    """A file that cannot be parsed is named, and why."""
    file = tmp_path / "mine.toml"
    file.write_bytes(content)
    with pytest.raises(PolicyError) as caught:
        load_policy(file)
    assert str(caught.value).startswith(f"policy {file}: {told}: ")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    """What is no file is named like a file that cannot be read."""
    with pytest.raises(PolicyError) as caught:
        load_policy(tmp_path)
    assert str(caught.value).startswith(f"policy {tmp_path}: not readable as TOML: ")


def test_a_name_that_is_neither_built_in_nor_a_file_is_refused() -> None:
    """The message lists the policies there are."""
    with pytest.raises(PolicyError) as caught:
        load_policy("stanard")
    assert str(caught.value) == "policy 'stanard': neither a built-in policy (standard, seed) nor a file"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        # Types.
        ("base = 3", "base"),
        ('base = "mine"', "base"),
        ("name = 3", "name"),
        ('alpha_good = "0.1"', "alpha_good"),
        ("alpha_good = true", "alpha_good"),
        ("alpha_bad = [0.1]", "alpha_bad"),
        ("min_samples = 5.5", "min_samples"),
        ("min_samples = true", "min_samples"),
        ("weights = 1.0", "weights"),
        ('roles = "main"', "roles"),
        ('roles = ["main", "boss"]', "roles[1]"),
        ("quality = 5", "quality"),
        ("latency = 5", "latency"),
        ("latency = [[1000, 1.0], [2000]]", "latency[1]"),
        ("latency = [[0.5, 1.0]]", "latency[0][0]"),
        ('latency = [[1000, "good"]]', "latency[0][1]"),
        ('latency_beyond = "no"', "latency_beyond"),
        ("completion_needs_work = 1", "completion_needs_work"),
        ('coordination_tools = "team_*"', "coordination_tools"),
        ("coordination_tools = [1]", "coordination_tools[0]"),
        # Ranges.
        ('name = ""', "name"),
        ('name = "standard"', "name"),
        ('name = "seed"', "name"),
        ("alpha_good = 0", "alpha_good"),
        ("alpha_good = 1.0000001", "alpha_good"),
        ("alpha_good = nan", "alpha_good"),
        ("alpha_good = -0.1", "alpha_good"),
        ("alpha_bad = 0.0", "alpha_bad"),
        ("alpha_bad = inf", "alpha_bad"),
        ("min_samples = 0", "min_samples"),
        ("min_samples = -5", "min_samples"),
        ("latency = [[2000, 1.0], [1000, 0.5]]", "latency"),
        ("latency = [[1000, 1.0], [1000, 0.5]]", "latency"),
        ("latency = [[0, 1.0]]", "latency"),
        ("latency = [[1000, 1.5]]", "latency.1000"),
        ("latency = [[1000, nan]]", "latency.1000"),
        ("latency_beyond = 1.1", "latency_beyond"),
        ("latency_beyond = nan", "latency_beyond"),
        ("roles = []", "roles"),
        ("quality.tool-success = 1.1", "quality.tool-success"),
        ("quality.tool-success = -0.1", "quality.tool-success"),
        ("quality.tool-success = nan", "quality.tool-success"),
        ("weights.integrity = -1.0", "weights.integrity"),
        ("weights.integrity = inf", "weights.integrity"),
        ("weights.integrity = nan", "weights.integrity"),
        ("weights = {competence = 0, reliability = 0, communication = 0, integrity = 0}", "weights"),
    ],
)
def test_a_wrong_value_is_refused_by_its_key(text: str, key: str) -> None:
    """The message names the file, the key, and what was expected instead."""
    told = refusal(text)
    assert told.startswith(f"policy my.toml: key {key!r}: ")
    assert len(told) > len(f"policy my.toml: key {key!r}: ")


@pytest.mark.parametrize(
    ("text", "table", "key"),
    [
        ('quality.tool-success = "good"', "quality", "tool-success"),
        ("quality.tool-success = true", "quality", "tool-success"),
        ("weights.integrity = [1.0]", "weights", "integrity"),
        ("weights.honesty = 1.0", "weights", "honesty"),
    ],
)
def test_a_wrong_entry_of_a_table_is_refused_by_its_key(text: str, table: str, key: str) -> None:
    """Inside a table the message names the entry, not only the table."""
    assert refusal(text).startswith(f"policy my.toml: key '{table}.{key}': ")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("alpha_gud = 0.1", "policy my.toml: unknown key 'alpha_gud'; did you mean 'alpha_good'?"),
        ("latencies = []", "policy my.toml: unknown key 'latencies'; did you mean 'latency'?"),
    ],
)
def test_a_key_that_is_almost_right_gets_a_hint(text: str, told: str) -> None:
    """An unknown key is named with the one that was probably meant."""
    assert refusal(text) == told


def test_an_unknown_key_gets_the_list() -> None:
    """Where nothing is close, all keys are named."""
    keys = ", ".join(("base", *Policy.__struct_fields__))
    assert refusal("zzz = 1") == f"policy my.toml: unknown key 'zzz'; known keys: {keys}"


# ---------------------------------------------------------------------- writing TOML

shares = st.floats(0, 1)
alphas = st.floats(0, 1, exclude_min=True)
overrides = st.fixed_dictionaries(
    {"name": st.text("abcdefghij -", min_size=1).filter(lambda name: name not in BUILT_IN)},
    optional={
        "alpha_good": alphas,
        "alpha_bad": alphas,
        "min_samples": st.integers(1, 10**6),
        "weights": st.dictionaries(st.sampled_from([dim.value for dim in DIMENSIONS]), st.floats(0.001, 1e6)),
        "roles": st.lists(st.sampled_from([role.value for role in Role]), min_size=1, unique=True),
        "quality": st.dictionaries(st.text("abcdef-", min_size=1), shares),
        "latency": st.dictionaries(st.integers(1, 10**9), shares).map(lambda steps: sorted(map(list, steps.items()))),
        "latency_beyond": shares,
        "completion_needs_work": st.booleans(),
        "coordination_tools": st.lists(st.text("abcdef_*")),
    },
)


@pytest.mark.parametrize("base", BUILT_IN)
@given(data=overrides)
def test_a_policy_written_as_toml_reads_back_the_same(base: str, data: dict[str, Any]) -> None:
    """What `policy` prints is the file that gives the policy, whatever the base."""
    policy = parse_policy({"base": base, **data}, "my.toml")
    assert parse(to_toml(policy)) == policy


@both
def test_a_built_in_policy_written_as_toml_is_a_start_for_ones_own(policy: Policy) -> None:
    """The text of a built-in policy gives its numbers under a name that is still to be chosen."""
    found = parse(to_toml(policy))
    assert found.name not in BUILT_IN
    assert msgspec.structs.replace(found, name=policy.name) == policy


@pytest.mark.parametrize(
    "char", ['"', "\\", "\n", "\t", "\x00", "\x1b", "\x7f", "\xe9", "\u2028", "\U0001f642"], ids=ascii
)
def test_names_that_need_an_escape_read_back_the_same(char: str) -> None:
    """Quotes, controls and what is not ASCII are written as TOML allows them: no surrogate pairs, no raw U+007F."""
    policy = msgspec.structs.replace(STANDARD, name=f"a{char}b")
    assert parse(to_toml(policy)) == policy


def test_the_text_of_a_policy_says_everything() -> None:
    """Every key of the policy stands in its text."""
    said = tomllib.loads(to_toml(msgspec.structs.replace(STANDARD, name="mine")))
    assert said.keys() - {"base"} == set(Policy.__struct_fields__)


def test_numbers_are_written_to_their_last_digit() -> None:
    """A number that has no short decimal form is not rounded."""
    third = math.nextafter(1 / 3, 1)
    assert parse(to_toml(msgspec.structs.replace(STANDARD, name="mine", alpha_good=third))).alpha_good == third
