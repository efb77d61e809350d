"""The command `show`: tables, lenses, and one agent."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from commandline import FOLDERS, LEDGER, WIDE, Done, agents_in, cells
from dshlog import LogBuilder
from make_fixtures import T, lead, mate, work

from a2a_trust.lenses import Lens
from a2a_trust.model import DIMENSIONS, Profile
from a2a_trust.policy import BUILT_IN

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SAME_START = ("helper 114", "helper 175")
"""Names of two helpers whose fingerprints begin with the same four digits."""


def write(root: Path, *builders: LogBuilder) -> Path:
    """Write logs below a folder."""
    for builder in builders:
        builder.write(root)
    return root


def described_anew(root: Path) -> Path:
    """Write the logs of two teams whose Leads described the same two members in other words."""
    for number in (1, 2):
        boss = lead(90, number)
        built = [boss]
        for place, name in enumerate(("researcher", "writer"), 1):
            boss.later(10).spawn(f"mate-{number}-{name}", name, f"Take {number}: does what a {name} does.")
            member = LogBuilder(f"mate-{number}-{name}", created_at=boss.now, parent=boss.session, origin="subagent")
            member.descriptor(f"Take {number}.")
            member.end_seed()
            member.turn_start()
            for call in range(3):
                work(member, T + 1000 * number + 100 * place + call)
            built.append(member)
        write(root, *built)
    return root


def expected_cells(agent: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The two lines that the table must hold of an agent, without its name and the time."""
    first, second = [], []
    for dim in DIMENSIONS:
        state = agent["dimensions"][dim]
        if state["value"] is None:
            first.append("–" if agent["scored"] else "not scored")
            continue
        first.append(f"{state['value']:.3f}/{state['samples']}" + (" low" if state["confidence"] == "low" else ""))
        low, high = (f"{state[bound] * 100:.0f}" for bound in ("low", "high"))
        second.append(f"{state['rate'] * 100:.0f}% {low}–{high}")
    first.append("not enough" if agent["total"] is None else f"{agent['total']:.4f}")
    return first, second


@pytest.mark.parametrize("policy", BUILT_IN)
@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if folder != "made-names"])
def test_the_table_holds_the_numbers_of_its_json(
    run: Callable[..., Done], home_of: Callable[..., Path], folder: str, policy: str
) -> None:
    """Each agent's two lines hold its values, samples, rates, intervals and total, low confidence marked."""
    home = home_of(folder, policy=policy)
    agents = run("show", "--json", "--by", "fingerprint", home=home).json()["agents"]
    lines = run("show", "--by", "fingerprint", home=home, columns=WIDE).out.splitlines()[1:-1]
    shown = [(cells(lines[place])[1:-1], cells(lines[place + 1])[1:]) for place in range(0, len(lines), 2)]
    assert shown == [expected_cells(agent) for agent in agents]


@pytest.mark.parametrize("lens", Lens)
def test_the_table_of_a_lens_holds_the_numbers_of_its_json(
    run: Callable[..., Done], home_of: Callable[..., Path], lens: str
) -> None:
    """Under every lens the table names the keys and holds their numbers."""
    home = home_of("a-team")
    agents = run("show", "--json", "--by", lens, home=home).json()["agents"]
    lines = run("show", "--by", lens, home=home, columns=WIDE).out.splitlines()
    title, *names = (cells(line)[0] for line in lines[:-1] if not line.startswith(" "))
    rows = [line for line in lines[1:-1] if re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d *$", line)]
    assert title == ("agent" if lens == Lens.FINGERPRINT else lens)
    assert [cells(row)[1:-1] for row in rows] == [expected_cells(agent)[0] for agent in agents]
    assert [name for name in names if lens != Lens.FINGERPRINT] == [
        agent["key"] for agent in agents if lens != Lens.FINGERPRINT
    ]


@pytest.mark.parametrize("folder", ["a-team", "b-shared-home", "made-failures", "made-names"])
def test_a_narrow_table_cuts_no_number(run: Callable[..., Done], home_of: Callable[..., Path], folder: str) -> None:
    """In eighty columns names may be cut, numbers never."""
    home = home_of(folder)
    agents = run("show", "--json", "--by", "fingerprint", home=home).json()["agents"]
    lines = run("show", "--by", "fingerprint", home=home, columns="80").out.splitlines()[1:]
    for place, agent in enumerate(agents):
        for cell, line in zip(expected_cells(agent), lines[2 * place : 2 * place + 2], strict=True):
            assert re.search(".*".join(map(re.escape, cell)), line), line


def test_the_table_fits_eighty_columns(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """No line of the table is longer than the terminal is wide."""
    table = run("show", "--by", "fingerprint", home=home_of("b-shared-home"), columns="80").out.splitlines()[:-1]
    assert [line for line in table if len(line.rstrip()) > 80] == []


def test_the_legend_names_the_policy(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """Under the table stands what the cells mean and under which policy."""
    told = run("show", home=home_of("a-team", policy="seed")).out.splitlines()[-1]
    assert ("fewer than 5 samples" in told, told.endswith("Policy: seed.")) == (True, True)


def test_the_numbers_come_with_their_provenance(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """The JSON says of which home, policy, rows and head the numbers are."""
    home = home_of("a-team")
    ledger = json.loads((home / LEDGER).read_bytes())
    assert run("show", "--json", home=home).json()["provenance"] == {
        "home": str(home),
        "policy": "standard",
        "rows": ledger["audit"]["rows"],
        "head": ledger["audit"]["head"],
        "asOf": ledger["updatedAt"],
        "now": ledger["updatedAt"],
        "snapshot": None,
        "sources": ["dsh"],
    }


def test_the_json_holds_the_ledger(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """Values, samples and good ones are those of the ledger; no evidence is `null`, not one half."""
    home = home_of("b-shared-home")
    agents = json.loads((home / LEDGER).read_bytes())["agents"]
    for key, agent in agents_in(run("show", "--json", home=home)).items():
        for dim, state in agents[key]["trust"].items():
            shown = agent["dimensions"][dim]
            value = state["value"] if state["samples"] else None
            assert (shown["value"], shown["samples"], shown["good"]) == (value, state["samples"], state["good"])


@pytest.mark.parametrize(
    ("sort", "number"),
    [
        ("total", lambda agent: agent["total"]),
        ("samples", lambda agent: sum(state["samples"] for state in agent["dimensions"].values())),
        ("last-seen", lambda agent: agent["lastSeen"]),
        *((dim.value, lambda agent, dim=dim: agent["dimensions"][dim]["value"]) for dim in DIMENSIONS),
    ],
)
def test_the_table_is_sorted_best_first(
    run: Callable[..., Done], home_of: Callable[..., Path], sort: str, number: Callable[[dict[str, Any]], Any]
) -> None:
    """The greatest number comes first, what is not known last, and names decide between equals."""
    agents = run("show", "--json", "--by", "fingerprint", "--sort", sort, home=home_of(*FOLDERS[:12])).json()["agents"]
    places = [(-1.0 if number(agent) is None else number(agent), agent["name"], agent["key"]) for agent in agents]
    assert places == sorted(places, key=lambda place: (-place[0], *place[1:]))


def test_the_table_is_sorted_by_name(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """`--sort name` is in the order of the alphabet."""
    agents = run("show", "--json", "--by", "fingerprint", "--sort", "name", home=home_of(*FOLDERS[:12])).json()[
        "agents"
    ]
    names = [agent["name"] for agent in agents]
    assert names == sorted(names)


@pytest.mark.parametrize("lens", [Lens.NAME, Lens.MODEL, Lens.TOOL, Lens.PROJECT])
def test_a_lens_is_sorted_by_its_own_names(run: Callable[..., Done], home_of: Callable[..., Path], lens: str) -> None:
    """`--sort name` goes by what the first column shows."""
    agents = run("show", "--json", "--by", lens, "--sort", "name", home=home_of(*FOLDERS)).json()["agents"]
    keys = [agent["key"] for agent in agents]
    assert keys == sorted(keys)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_limit_keeps_the_newest(run: Callable[..., Done], home_of: Callable[..., Path], limit: int) -> None:
    """Of more agents than are asked for the newest are shown, and how many were left out is told."""
    home = home_of("a-team")
    seen = sorted(agent["lastSeen"] for agent in run("show", "--json", home=home).json()["agents"])
    done = run("show", "--json", "--limit", limit, home=home).json()
    assert sorted(agent["lastSeen"] for agent in done["agents"]) == seen[-limit:]
    assert done["leftOut"] == len(seen) - limit


def test_a_limit_is_told(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """Under a table that is not whole stands how to see the rest."""
    told = [run("show", "--limit", limit, home=home_of("a-team")).out for limit in (2, 0, 4)]
    line = "The newest 2 of 4; all with --limit 0.\n"
    assert [line in text for text in told] == [True, False, False]


def test_no_limit_shows_all(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """`--limit 0` leaves nothing out."""
    home = home_of(*FOLDERS)
    done = run("show", "--json", "--by", "fingerprint", "--limit", "0", home=home).json()
    assert (len(done["agents"]), done["leftOut"]) == (len(json.loads((home / LEDGER).read_bytes())["agents"]), 0)


# ---------------------------------------------------------------------- the lens that is chosen


def test_types_that_never_come_back_are_shown_by_name(run: Callable[..., Done], tmp_path: Path) -> None:
    """Where few fingerprints recur the table is by name."""
    run("backfill", described_anew(tmp_path / "logs"))
    done = run("show", "--json").json()
    assert (done["lens"], [agent["key"] for agent in done["agents"]]) == ("name", ["researcher", "writer", "main"])


def test_a_lens_that_was_chosen_is_told(run: Callable[..., Done], tmp_path: Path) -> None:
    """Why the table is by name, and how to see each type, stands on standard error."""
    run("backfill", described_anew(tmp_path / "logs"))
    assert run("show").err == (
        "By name: 14 % of the evidence stands on agent types that came back. Each type: --by fingerprint\n"
    )


def test_a_lens_that_was_asked_for_is_not_told(run: Callable[..., Done], tmp_path: Path) -> None:
    """Who chose the lens needs no reason for it."""
    run("backfill", described_anew(tmp_path / "logs"))
    assert [run("show", "--by", lens).err for lens in ("fingerprint", "name")] == ["", ""]


def test_types_that_come_back_are_shown_by_fingerprint(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """Where most evidence stands on recurring fingerprints nothing is said of lenses."""
    home = home_of("b-shared-home")
    assert (run("show", "--json", home=home).json()["lens"], run("show", home=home).err) == ("fingerprint", "")


# ---------------------------------------------------------------------- show AGENT


def test_every_agent_is_found_by_its_fingerprint(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """The whole fingerprint, and its first twelve digits in either case, name one agent."""
    home = home_of("a-team", "made-names")
    for key, agent in agents_in(run("show", "--json", "--by", "fingerprint", home=home)).items():
        for wanted in (key, key[:12], key[:12].upper()):
            assert run("show", wanted, "--json", home=home).json() == agent


def test_an_agent_is_found_by_its_name(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """A name that only one agent has names it."""
    home = home_of("a-team")
    found = run("show", "researcher", "--json", home=home).json()
    assert found == agents_in(run("show", "--json", home=home))[found["key"]]
    assert found["name"] == "researcher"


def test_the_page_of_an_agent_holds_the_numbers_of_its_json(
    run: Callable[..., Done], home_of: Callable[..., Path]
) -> None:
    """Values to their last digit, samples, good ones and confidence stand on the page."""
    home = home_of("a-team")
    agent = run("show", "implementer", "--json", home=home).json()
    page = run("show", "implementer", home=home, columns=WIDE).out
    rows = {row[0]: row for row in map(cells, page.splitlines())}
    for dim in DIMENSIONS:
        state = agent["dimensions"][dim]
        value = "–" if state["value"] is None else str(state["value"])
        assert rows[dim][:4] == [dim, value, str(state["samples"]), str(state["good"])]
        assert rows[dim][-1] == state["confidence"]
    assert rows["total"][1] == str(agent["total"])
    assert rows["fingerprint"][1] == agent["key"]


def test_the_page_of_an_agent_says_what_moved_no_score(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """What nobody is blamed for stands beside the score."""
    home = home_of("made-failures")
    agent = run("show", "coder-v0", "--json", home=home).json()
    page = run("show", "coder-v0", home=home).out
    (line,) = re.findall(r"^moved no score: (.*)$", page, re.MULTILINE)
    excused = [f"{reason} {count}" for reason, count in sorted(agent["stats"]["unattributable"].items())]
    assert line.startswith(", ".join(excused))
    assert len(excused) == 5


def test_an_agent_that_is_not_scored_says_so(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """Under a policy that leaves out its role an agent is shown, without a score."""
    page = run("show", "main", home=home_of("a-team", policy="seed")).out
    assert "(not scored under policy seed)" in page


def test_a_name_that_several_agents_have_lists_them(run: Callable[..., Done], tmp_path: Path) -> None:
    """Each candidate is named by a start of its fingerprint that finds it."""
    run("backfill", described_anew(tmp_path / "logs"))
    done = run("show", "writer")
    assert (done.code, done.err.startswith("a2a-trust: 2 agents answer to 'writer', give a fingerprint: ")) == (
        10,
        True,
    )
    candidates = re.findall(r"\b[0-9a-f]{12}\b", done.err)
    found = [run("show", candidate, "--json").json() for candidate in candidates]
    assert [(agent["name"], agent["key"][:12]) for agent in found] == [("writer", key) for key in candidates]


def test_a_start_that_several_fingerprints_have_lists_them(run: Callable[..., Done], tmp_path: Path) -> None:
    """A prefix must lead to one agent too."""
    boss = lead(91)
    for number, name in enumerate(SAME_START):
        boss.spawn(f"mate-{number}", name, "Helps.")
    run("backfill", write(tmp_path / "logs", boss))
    keys = [
        Profile(name=name, description="Helps.", provider="spawn", context="fresh").fingerprint for name in SAME_START
    ]
    assert keys[0][:4] == keys[1][:4]
    done = run("show", keys[0][:4])
    assert (done.code, re.findall(r"\b[0-9a-f]{12}\b", done.err)) == (10, sorted(key[:12] for key in keys))


def test_a_start_of_three_digits_is_too_short(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """A prefix needs four digits; shorter ones would find anything."""
    home = home_of("a-team")
    key = run("show", "researcher", "--json", home=home).json()["key"]
    assert [run("show", key[:length], home=home).code for length in (3, 4)] == [10, 0]


def test_a_namesake_is_told(run: Callable[..., Done], tmp_path: Path) -> None:
    """The page of an agent names the others of its name, by a start of their fingerprint that finds them."""
    run("backfill", described_anew(tmp_path / "logs"))
    one, other = re.findall(r"\b[0-9a-f]{12}\b", run("show", "writer").err)
    page = run("show", one).out
    assert f"Another agent has this name: {other} (teammate spawn/fresh), last seen " in page


def test_no_namesake_is_no_line(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """Where a name is the only one of its kind nothing is said of others."""
    assert "Another agent" not in run("show", "researcher", home=home_of("a-team")).out


@pytest.mark.parametrize(("wanted", "meant"), [("resear", "researcher"), ("RESEARCHER", "researcher"), ("ai", "main")])
def test_a_name_that_is_almost_right_gets_a_hint(
    run: Callable[..., Done], home_of: Callable[..., Path], wanted: str, meant: str
) -> None:
    """Names that hold what was typed are suggested, whatever the case."""
    done = run("show", wanted, home=home_of("a-team"))
    assert (done.code, done.err.endswith(f"; did you mean {meant}?\n")) == (10, True)


def test_a_hint_ignores_the_case_of_names(run: Callable[..., Done], tmp_path: Path) -> None:
    """An agent whose name has capitals is suggested to who types it without."""
    boss = lead(92)
    member = mate(boss, 1, "Code Reviewer")
    run("backfill", write(tmp_path / "logs", boss, member))
    assert run("show", "reviewer").err.endswith("; did you mean Code Reviewer?\n")


@pytest.mark.parametrize(
    ("lens", "key"), [("name", "researcher"), ("tool", "bash"), ("model", "script-1"), ("source", "dsh")]
)
def test_one_key_of_a_lens_is_shown(
    run: Callable[..., Done], home_of: Callable[..., Path], lens: str, key: str
) -> None:
    """A key of a lens has a page of its own."""
    home = home_of("a-team")
    found = agents_in(run("show", "--by", lens, "--json", home=home))
    assert run("show", key, "--by", lens, "--json", home=home).json() == found[key]


def test_the_page_of_a_lens_is_headed_by_its_key(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """The page of a tool begins with the tool, not with the first agent that used it."""
    assert run("show", "bash", "--by", "tool", home=home_of("a-team")).out.splitlines()[0].strip() == "bash"


def test_a_key_that_a_lens_does_not_have_lists_those_it_has(
    run: Callable[..., Done], home_of: Callable[..., Path]
) -> None:
    """The message names the keys there are."""
    done = run("show", "hammer", "--by", "tool", home=home_of("a-team"))
    assert done.err.startswith("a2a-trust: no tool is called 'hammer'; there are: bash, edit, ")
