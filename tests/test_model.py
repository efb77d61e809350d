"""Identities, text that is safe to show, and the lenses that fold the same rows by another key."""

import hashlib
import unicodedata
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_trust.agents import fold_agent, resolve
from a2a_trust.lenses import Lens, default_lens, fold_by, recurring_shares
from a2a_trust.model import ROW_VERSION, AgentRecord, Details, Dimension, Policy, Profile, Role, Row
from a2a_trust.policy import BUILT_IN, SEED, STANDARD
from a2a_trust.text import percent, safe, size, when

MAIN_FINGERPRINT = "4342e15a73ac18381c247b3c548e03732e95a19939bdb88187b1dc494d222af0"

# ---------------------------------------------------------------------- fingerprints


def test_the_fingerprint_of_a_main_agent_is_known() -> None:
    """A root session without a preset has the same identity everywhere, for ever."""
    assert Profile(name="main", context="root", role=Role.MAIN).fingerprint == MAIN_FINGERPRINT


def test_the_known_fingerprint_is_the_hash_of_the_four_fields() -> None:
    """The fields are joined by U+001F, missing ones empty."""
    assert hashlib.sha256(b"main\x1f\x1f\x1froot").hexdigest() == MAIN_FINGERPRINT


def test_a_fingerprint_is_over_the_four_fields_in_their_order() -> None:
    """Name, description, provider, context, in UTF-8."""
    profile = Profile(name="編碼者", description="Writes café.", provider="spawn", context="fresh")
    expected = hashlib.sha256("編碼者\x1fWrites café.\x1fspawn\x1ffresh".encode()).hexdigest()
    assert profile.fingerprint == expected


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("model", ["", "model-a", "model-b"])
def test_role_and_model_are_not_hashed(role: Role, model: str) -> None:
    """What an agent was and ran on is shown beside its identity, and is no part of it."""
    plain = Profile(name="coder", description="Writes.", provider="spawn", context="fresh")
    shown = Profile(name="coder", description="Writes.", provider="spawn", context="fresh", role=role, model=model)
    assert shown.fingerprint == plain.fingerprint


@pytest.mark.parametrize("field", ["name", "description", "provider", "context"])
def test_a_separator_inside_a_field_takes_another_form(field: str) -> None:
    """Where a field itself holds U+001F, the fields are not merely joined by it."""
    fields = {"name": "coder", "description": "é", "provider": "spawn", "context": "fresh", field: "a\x1fé"}
    encoded = [text.encode() for text in fields.values()]
    plain = hashlib.sha256(b"\x1f".join(encoded)).hexdigest()
    assert Profile(**fields).fingerprint != plain


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a\x1fb", "", "", ""), ("a", "b", "", "")),
        (("a\x1f", "b", "", ""), ("a", "\x1fb", "", "")),
        (("\x1f\x1f\x1f", "", "", ""), ("", "", "", "")),
        (("a", "b\x1fc", "d", ""), ("a", "b", "c\x1fd", "")),
        (("1:a", "\x1f", "", ""), ("1", ":a\x1f", "", "")),
        # The length-prefixed text of the one is the joined text of the other.
        (("a\x1fb\x1fc\x1fd", "", "", ""), ("7:a", "b", "c", "d0:0:0:")),
    ],
)
def test_a_separator_inside_a_field_makes_no_namesake(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    """No profile takes another's identity by a separator in one of its fields."""
    fields = ("name", "description", "provider", "context")
    profiles = [Profile(**dict(zip(fields, texts, strict=True))) for texts in (one, other)]
    assert profiles[0].fingerprint != profiles[1].fingerprint


texts = st.text("ab\x1f1:", max_size=4)
profiles_of = st.builds(Profile, name=texts, description=texts, provider=texts, context=texts)


@given(profiles_of, profiles_of)
def test_two_profiles_share_a_fingerprint_only_if_their_fields_are_the_same(one: Profile, other: Profile) -> None:
    """The fingerprint is the identity."""
    assert (one.fingerprint == other.fingerprint) == (one == other)


# ---------------------------------------------------------------------- text that is safe to show

anything = st.text(st.characters(codec=None))
HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp", "Co", "Cn"}
JOINERS = "\u200c\u200d"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "coder",
        "[bold red]coder[/]",
        "<script>alert(1)</script> & \"quoted\" 'name'",
        "=cmd|' /C calc'!A0",
        "back\\slash \\x1b",
        "編碼者",
        "café",
        "cafe\u0301",
        "\N{FAMILY}\N{ZERO WIDTH JOINER}\N{ADULT}",
        "\N{ARABIC LETTER ALEF}\N{ZERO WIDTH NON-JOINER}",
        "no-break\N{NO-BREAK SPACE}space",
    ],
    ids=ascii,
)
def test_text_that_does_nothing_stays_as_it_is(text: str) -> None:
    """Markup, quotes, accents, emoji and other scripts are shown as they are written."""
    assert safe(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x9b31m", r"\x9b31m"),
        ("\x00\x08\x7f", r"\x00\x08\x7f"),
        ("two\nlines\r\nand\ta tab", r"two\x0alines\x0d\x0aand\x09a tab"),
        ("line\u2028paragraph\u2029next\x85", r"line\u2028paragraph\u2029next\x85"),
        ("\u202eesrever\u202c", r"\u202eesrever\u202c"),
        ("\u200fmark\u200e\u061c", r"\u200fmark\u200e\u061c"),
        ("\u2066\u2067\u2068\u2069", r"\u2066\u2067\u2068\u2069"),
        ("\ud83d lone \udc00", r"\ud83d lone \udc00"),
        ("zero\u200bwidth \ufeff", r"zero\u200bwidth \ufeff"),
        ("soft\u00adhyphen", r"soft\xadhyphen"),
        ("\U000e0041 tag", r"\U000e0041 tag"),
        ("\ue000 private", r"\ue000 private"),
        ("\uffff no character", r"\uffff no character"),
    ],
    ids=ascii,
)
def test_text_that_does_something_is_shown_as_its_code(text: str, shown: str) -> None:
    """Escapes, line breaks, direction marks, surrogates and what cannot be seen become their codes."""
    assert safe(text) == shown


@given(anything)
def test_safe_text_holds_no_control(text: str) -> None:
    """Whatever comes in, what goes out is one line of characters that can be seen, and joiners."""
    assert {char for char in safe(text) if unicodedata.category(char) in HIDDEN} <= set(JOINERS)


@given(anything)
def test_safe_text_can_be_written(text: str) -> None:
    """What goes out can be encoded, lone surrogates or not."""
    assert safe(text).encode().decode() == safe(text)


@given(anything)
def test_safe_text_is_safe_again(text: str) -> None:
    """Making text safe twice gives what making it safe once gives."""
    assert safe(safe(text)) == safe(text)


@given(anything, st.integers(1, 40))
def test_a_limit_holds(text: str, limit: int) -> None:
    """No more characters come out than were asked for, codes included."""
    assert len(safe(text, limit)) <= limit


@given(anything, st.integers(1, 40))
def test_a_limit_is_stable(text: str, limit: int) -> None:
    """Text cut once is not cut again."""
    assert safe(safe(text, limit), limit) == safe(text, limit)


@given(anything, st.integers(1, 40))
def test_a_limit_cuts_only_what_is_too_long(text: str, limit: int) -> None:
    """What fits stays whole; what does not begins the same and ends in an ellipsis."""
    whole = safe(text)
    assert safe(text, limit) == (whole if len(whole) <= limit else whole[: limit - 1] + "…")


@pytest.mark.parametrize(
    ("time_ms", "exact", "shown"),
    [
        (1_796_048_190_988, False, "2026-11-30 14:16"),
        (1_796_048_190_988, True, "2026-11-30 14:16:30.988"),
        (1_796_048_190_002, True, "2026-11-30 14:16:30.002"),
        (0, False, "undated"),
        (0, True, "undated"),
        (-1, False, "undated"),
        (4 * 10**12, False, "2096-10-02 07:06"),
    ],
)
def test_times_are_shown_in_utc(time_ms: int, *, exact: bool, shown: str) -> None:
    """A time is shown to the minute, or to the millisecond where it is asked for; no time is not 1970."""
    assert when(time_ms, exact=exact) == shown


@pytest.mark.parametrize(("share", "shown"), [(0.0, "0"), (0.004, "0"), (0.5, "50"), (0.996, "100"), (1.0, "100")])
def test_shares_are_shown_as_whole_per_cents(share: float, shown: str) -> None:
    """A share has no decimals."""
    assert percent(share) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (1_550_000, "1.6 MB"),
        (2 * 10**9, "2.0 GB"),
        (5 * 10**15, "5000000.0 GB"),
    ],
)
def test_sizes_are_shown_in_si_units(count: int, shown: str) -> None:
    """A thousand bytes are a kilobyte."""
    assert size(count) == shown


# ---------------------------------------------------------------------- lenses


class Log:
    """Rows of made-up sessions, each later than the one before."""

    def __init__(self) -> None:
        """Begin with nothing at time 1000."""
        self.rows: list[Row] = []

    def add(
        self,
        kind: str,
        name: str,
        session: str,
        dim: Dimension | None = Dimension.COMPETENCE,
        *,
        description: str = "",
        **details: object,
    ) -> Row:
        """Add a row about an agent of a name, from a session's log."""
        number = len(self.rows)
        profile = Profile(name=name, description=description, provider="spawn", context="fresh")
        row = Row(
            v=ROW_VERSION,
            id=f"row-{number}",
            time=1000 + number,
            session=session,
            gen=0,
            seq=number,
            pos=0,
            kind=kind,
            subject=profile.fingerprint,
            subject_name=name,
            dim=dim,
            evidence=Details(**{"role": Role.TEAMMATE, **details}),
        )
        self.rows.append(row)
        return row

    def tool(self, name: str, session: str, tool: str = "bash", **details: object) -> Row:
        """Add a successful call."""
        return self.add("tool-success", name, session, tool=tool, **details)

    def register(self, name: str, session: str, description: str = "") -> Row:
        """Add the registration of an agent."""
        profile = Profile(name=name, description=description, provider="spawn", context="fresh")
        return self.add("member-registered", name, session, None, description=description, profile=profile)

    def model(self, name: str, session: str, model: str) -> Row:
        """Add the first answer of a model in a session."""
        return self.add("model-seen", name, session, None, model=model)


def samples(records: dict[str, AgentRecord], dim: Dimension = Dimension.COMPETENCE) -> dict[str, int]:
    """How much evidence each key of a lens has in a dimension."""
    return {key: record.trust[dim].samples for key, record in records.items()}


def agents(rows: Iterable[Row]) -> dict[str, AgentRecord]:
    """The agents of a ledger over rows."""
    return fold_by(Lens.FINGERPRINT, rows, STANDARD)


def test_the_lens_of_fingerprints_is_the_ledger() -> None:
    """By fingerprint each record is the fold of its own rows."""
    log = Log()
    for name in ("coder", "tester", "coder"):
        log.register(name, f"s-{name}")
        log.tool(name, f"s-{name}")
    found = fold_by(Lens.FINGERPRINT, log.rows, STANDARD)
    keys = sorted({row.subject for row in log.rows if row.subject})
    assert found == {key: fold_agent(key, [row for row in log.rows if row.subject == key], STANDARD) for key in keys}


def test_the_lens_of_names_adds_up_all_of_a_name() -> None:
    """Agents that a Lead described anew at each spawn are one by name."""
    log = Log()
    for number in range(3):
        log.add("tool-success", "coder", f"s-{number}", description=f"Writes code, take {number}.", tool="bash")
    log.tool("tester", "s-9")
    assert samples(fold_by(Lens.NAME, log.rows, STANDARD)) == {"coder": 3, "tester": 1}


def test_a_lens_folds_in_key_order_whatever_the_order_of_rows() -> None:
    """The order in the file does not matter, only the order of the keys."""
    log = Log()
    log.tool("coder", "a")
    log.add("tool-error", "coder", "b", description="Another.", tool="read")
    log.tool("coder", "c")
    assert fold_by(Lens.NAME, reversed(log.rows), STANDARD) == fold_by(Lens.NAME, log.rows, STANDARD)


def test_the_lens_of_tools_leaves_out_what_has_no_tool() -> None:
    """Tasks and messages are no tools'."""
    log = Log()
    log.tool("coder", "s", "bash")
    log.tool("tester", "t", "bash")
    log.add("tool-error", "coder", "s", tool="read")
    log.add("task-reopened", "coder", "lead", task="task-1", owner="s")
    log.add("message-sent", "coder", "lead", Dimension.COMMUNICATION, sender="s")
    assert samples(fold_by(Lens.TOOL, log.rows, STANDARD)) == {"bash": 2, "read": 1}


def test_the_lens_of_tools_shows_tools_that_a_policy_leaves_out() -> None:
    """A coordination tool is listed, without evidence."""
    log = Log()
    log.tool("coder", "s", "todo_write")
    found = [samples(fold_by(Lens.TOOL, log.rows, policy)) for policy in (STANDARD, SEED)]
    assert found == [{"todo_write": 0}, {"todo_write": 1}]


@pytest.mark.parametrize(("lens", "field"), [(Lens.PROJECT, "project"), (Lens.SOURCE, "source")])
def test_a_lens_leaves_out_rows_without_its_key(lens: Lens, field: str) -> None:
    """A row from a log that does not say is in no group."""
    log = Log()
    log.tool("coder", "s", **{field: "one"})
    log.tool("coder", "t", **{field: "other"})
    log.tool("coder", "u")
    assert samples(fold_by(lens, log.rows, STANDARD)) == {"one": 1, "other": 1}


def test_a_lens_leaves_out_rows_of_nobody() -> None:
    """A row about no agent, such as a change of policy, is in no group."""
    row = Row(v=ROW_VERSION, id="policy:0", time=0, session="", gen=0, seq=0, pos=0, kind="policy")
    assert [fold_by(lens, [row], STANDARD) for lens in Lens] == [{}] * len(Lens)


@pytest.mark.parametrize("lens", Lens)
def test_a_lens_lists_its_keys_in_order(lens: Lens) -> None:
    """The keys are sorted."""
    log = Log()
    for name in ("c", "a", "b"):
        log.tool(name, name, name, model=name, project=name, source=name)
    found = list(fold_by(lens, log.rows, STANDARD))
    assert found == sorted(found)
    assert len(found) == 3


def test_the_lens_of_models_goes_by_what_a_row_says() -> None:
    """A call says itself which model made it."""
    log = Log()
    log.tool("coder", "s", model="model-a")
    log.tool("coder", "s", model="model-b")
    log.tool("coder", "s", model="model-b")
    assert samples(fold_by(Lens.MODEL, log.rows, STANDARD)) == {"model-a": 1, "model-b": 2}


def test_a_task_belongs_to_the_model_of_its_owner() -> None:
    """A task stands in the Lead's log; only its owner's own session knows which model did it."""
    log = Log()
    log.model("main", "lead", "model-of-lead")
    log.model("coder", "owner", "model-of-owner")
    log.add("task-reopened", "coder", "lead", Dimension.RELIABILITY, task="task-1", owner="owner")
    assert samples(fold_by(Lens.MODEL, log.rows, STANDARD), Dimension.RELIABILITY) == {
        "model-of-lead": 0,
        "model-of-owner": 1,
    }


def test_a_message_belongs_to_the_model_of_its_sender() -> None:
    """A message stands in the Lead's log or in its receiver's; its sender's session knows the model."""
    log = Log()
    log.model("main", "lead", "model-of-lead")
    log.model("coder", "sender", "model-of-sender")
    log.add("message-sent", "coder", "lead", Dimension.COMMUNICATION, message="m", sender="sender", target="lead")
    assert samples(fold_by(Lens.MODEL, log.rows, STANDARD), Dimension.COMMUNICATION) == {
        "model-of-lead": 0,
        "model-of-sender": 1,
    }


def test_an_answer_belongs_to_the_model_that_answered() -> None:
    """The sender of the message that was answered has no part in it."""
    log = Log()
    log.model("main", "lead", "model-of-lead")
    log.model("coder", "answering", "model-of-coder")
    log.add("response-latency", "coder", "answering", Dimension.COMMUNICATION, ms=5, message="m", sender="lead")
    assert samples(fold_by(Lens.MODEL, log.rows, STANDARD), Dimension.COMMUNICATION) == {
        "model-of-coder": 1,
        "model-of-lead": 0,
    }


def test_a_task_belongs_to_the_model_that_its_owner_ran_then() -> None:
    """Where the owner's model changed, the one before the task in key order counts."""
    log = Log()
    log.model("coder", "owner", "model-a")
    log.add("task-reopened", "coder", "lead", task="task-1", owner="owner")
    log.model("coder", "owner", "model-b")
    log.add("task-reopened", "coder", "lead", task="task-2", owner="owner")
    log.add("task-reopened", "coder", "lead", task="task-3", owner="owner")
    assert samples(fold_by(Lens.MODEL, log.rows, STANDARD)) == {"model-a": 1, "model-b": 2}


def test_a_task_before_its_owners_first_answer_belongs_to_the_first_model() -> None:
    """A task that was done before any model was seen is the first model's."""
    log = Log()
    log.add("task-reopened", "coder", "lead", task="task-1", owner="owner")
    log.model("coder", "owner", "model-a")
    log.model("coder", "owner", "model-b")
    assert samples(fold_by(Lens.MODEL, log.rows, STANDARD)) == {"model-a": 1, "model-b": 0}


def test_rows_of_a_session_without_a_model_are_left_out() -> None:
    """Where no model was ever seen, none is made up."""
    log = Log()
    log.add("task-reopened", "coder", "lead", task="task-1", owner="owner")
    assert fold_by(Lens.MODEL, log.rows, STANDARD) == {}


def test_a_completion_keeps_its_support_under_every_lens() -> None:
    """Whether work supports a task is decided by its agent's rows, not by the rows of the group."""
    log = Log()
    log.tool("coder", "owner", project="/home/dev/one")
    log.add(
        "task-completed", "coder", "lead", project="/home/dev/other", task="t", revision=2, owner="owner", since=1000
    )
    assert samples(fold_by(Lens.PROJECT, log.rows, STANDARD)) == {"/home/dev/one": 1, "/home/dev/other": 1}


@given(
    lens=st.sampled_from(Lens),
    policy=st.sampled_from(list(BUILT_IN.values())),
    said=st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("ab"), st.sampled_from(["tool-success", "tool-error"])),
        max_size=8,
    ),
)
def test_a_lens_neither_adds_nor_loses_evidence(lens: Lens, policy: Policy, said: list[tuple[str, str, str]]) -> None:
    """Over all keys there is as much evidence as the fingerprints have, where every row has the key."""
    log = Log()
    for name, key, kind in said:
        log.add(kind, name, name, tool=key, model=key, project=key, source=key)
    expected = sum(
        quality is not None
        for subject in {row.subject for row in log.rows}
        for _, quality in resolve([row for row in log.rows if row.subject == subject], policy)
    )
    assert sum(samples(fold_by(lens, log.rows, policy)).values()) == expected


# ---------------------------------------------------------------------- the lens that shows something


def team(log: Log, number: int, *described: tuple[str, str]) -> None:
    """Add a team: every member is registered and does three pieces of work."""
    for name, description in described:
        session = f"{name}-{number}"
        log.register(name, session, description)
        for _ in range(3):
            log.add("tool-success", name, session, description=description, tool="bash")


def test_types_that_come_back_are_shown_by_fingerprint() -> None:
    """Where most evidence stands on fingerprints that recur, they are the default."""
    log = Log()
    team(log, 1, ("coder", "Writes."), ("tester", "Tests."))
    team(log, 2, ("coder", "Writes."), ("tester", "Tests, take two."))
    assert (recurring_shares(agents(log.rows)), default_lens(agents(log.rows))) == ((0.5, 1.0), Lens.FINGERPRINT)


def test_types_that_never_come_back_are_shown_by_name() -> None:
    """Where Leads describe their members anew each time, names are the default."""
    log = Log()
    team(log, 1, ("coder", "Writes."), ("tester", "Tests."))
    team(log, 2, ("coder", "Writes, take two."), ("tester", "Tests, take two."))
    assert (recurring_shares(agents(log.rows)), default_lens(agents(log.rows))) == ((0.0, 1.0), Lens.NAME)


def test_names_that_never_come_back_either_are_no_better() -> None:
    """Where nothing recurs at all, fingerprints stay the default."""
    log = Log()
    team(log, 1, ("coder", "Writes."), ("tester", "Tests."))
    assert (recurring_shares(agents(log.rows)), default_lens(agents(log.rows))) == ((0.0, 0.0), Lens.FINGERPRINT)


def test_nothing_at_all_is_shown_by_fingerprint() -> None:
    """Without evidence there is nothing to fall back from."""
    assert (recurring_shares({}), default_lens({})) == ((1.0, 1.0), Lens.FINGERPRINT)
