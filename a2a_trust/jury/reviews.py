"""The review queue: what went to a person, over all runs of a folder. A view of their logs, kept in SQLite.

The database is an index that can be deleted at any time: each run is read again where its log is not the one that was
read. A decision goes into the log of its run first; the queue and the run's views follow from that.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct

from a2a_trust.errors import JuryLogError, ResolutionError, RunFolderError
from a2a_trust.jury import views
from a2a_trust.jury.fold import Item, Reading, Run, verdict_of
from a2a_trust.jury.journal import append, read_lines
from a2a_trust.jury.run_folder import expect_text
from a2a_trust.sources.jury_events import LOG_NAME, Answered, OutcomeReached, Resolved, key_of
from a2a_trust.store import files
from a2a_trust.text import is_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Self

_LOG = logging.getLogger("a2a_trust")
DATABASE = "reviews.sqlite"
RESOLVER_LIMIT, NOTE_LIMIT = 200, 2000
_VERSION = 1
_APPLICATION = 0x61327472
"""The `application_id` of the database, which tells it from another program's."""
_HEADER_BYTES = 100
_BUSY_SECONDS = 5.0
_SCHEMA = """
CREATE TABLE runs (folder TEXT PRIMARY KEY, size INTEGER, changed INTEGER, unread TEXT);
CREATE TABLE reviews (
  run TEXT, dataset TEXT, trace TEXT, folder TEXT REFERENCES runs (folder) ON DELETE CASCADE, number INTEGER,
  pending INTEGER, review BLOB, PRIMARY KEY (run, dataset, trace, folder)
);
"""


class Decision(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a person decided."""

    decision: str
    resolver: str
    note: str
    time: int


class Review(Struct, frozen=True, kw_only=True, rename="camel"):
    """An item that went to a person."""

    run: str
    dataset: str
    """SHA-256 of the data set."""
    trace: str
    folder: str
    """Name of the run's folder."""
    title: str
    question: str
    options: tuple[str, ...]
    reason: str
    votes: dict[str, str]
    """By seat; who gave no valid verdict is not among them."""
    since: int
    """ms, UTC."""
    line: str
    """Hash of the line of its outcome: whoever decides names it, or has seen another log."""
    resolution: Decision | None


class Key(NamedTuple):
    """What a decision must name."""

    run: str
    dataset: str
    trace: str


class Queue:
    """The reviews of a folder of runs, or of one run's own folder. A context manager."""

    def __init__(self, place: Path) -> None:
        """Read what is new in the logs. A folder without runs stays as it is, and so does that of a single run.

        Raises:
            RunFolderError: The place is a run whose folder cannot be named.
        """
        self.place = place
        self._single = (place / LOG_NAME).is_file()
        if self._single:
            expect_text(place)
        found = list(_runs(place))
        self._folders = {folder.name: folder for folder in found if is_text(folder.name)}
        self._nameless = [folder.name for folder in found if folder.name not in self._folders]
        self._db = self._connect()

    def __enter__(self) -> Self:
        """Hand out the queue."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let the database go."""
        self._db.close()

    def reviews(self, *, pending: bool = True) -> list[Review]:
        """Return what waits, or all that ever did, oldest run first and in the order of each log."""
        rows = self._db.execute(
            "SELECT review FROM reviews WHERE pending >= ? ORDER BY folder, number", (1 if pending else 0,)
        )
        return [msgspec.json.decode(row[0], type=Review) for row in rows]

    def unread(self) -> list[tuple[str, str]]:
        """Return the folders whose logs could not be read, with the reason."""
        found = self._db.execute("SELECT folder, unread FROM runs WHERE unread != '' ORDER BY folder").fetchall()
        return [*found, *((name, "its name is no text; rename it") for name in self._nameless)]

    def find(self, trace: str, run: str = "", dataset: str = "") -> Review:
        """Return the review of a trace, told from others by the beginning of its run and data set.

        Raises:
            ResolutionError: There is none, or more than one.
        """
        found = [
            one
            for one in self.reviews(pending=False)
            if one.trace == trace and one.run.startswith(run) and one.dataset.startswith(dataset)
        ]
        if not found:
            raise ResolutionError(f"{trace!r}: no such trace went to a person; see: a2a-trust jury review --all")
        if len(found) > 1:
            named = "; ".join(f"--run {one.run} --dataset {one.dataset[:12]}" for one in found[:3])
            raise ResolutionError(f"{trace!r} went to a person in {len(found)} runs; say which one: {named}")
        return found[0]

    def folder_of(self, review: Review) -> Path:
        """Return the folder of a review's run."""
        return self._folders[review.folder]

    def resolve(self, key: Key, line: str, decision: str, resolver: str, note: str) -> Review:
        """Put a person's decision into the log of its run, then compute the views of the run again.

        `line` is the hash of the outcome that the person has seen, or how it begins; empty to leave it unchecked.

        Raises:
            ResolutionError: The key is not exactly that of an item which waits, the decision was made from another
                log or data set, is none of the options, is blank, or stands already.
        """
        for option, said in (
            *zip(("--run", "--dataset", "--trace"), key, strict=True),
            ("--resolver", resolver),
            ("--note", note),
        ):
            if not is_text(said):
                raise ResolutionError(f"{option} {said!r} is no text; expected UTF-8")
        resolver, note = _filled("--resolver", resolver, RESOLVER_LIMIT), _filled("--note", note, NOTE_LIMIT)
        review = self._exactly(key)
        if not review.line.startswith(line):
            raise ResolutionError(
                f"{key.trace!r}: the decision was made from the outcome {line[:12]}, and the log holds "
                f"{review.line[:12]}; look at it again: a2a-trust jury review show"
            )
        if review.resolution is not None:
            held = review.resolution
            raise ResolutionError(f"{key.trace!r} was resolved before, as {held.decision} by {held.resolver}")
        if decision not in review.options:
            raise ResolutionError(f"--decision {decision!r}: expected one of {', '.join(review.options)}")
        folder = self.folder_of(review)
        append(
            folder,
            Resolved(
                key=key_of("resolution", key.trace),
                time=0,
                item=key.trace,
                case=key.dataset,
                decision=decision,
                resolver=resolver,
                note=note,
            ),
        )
        views.write_all(folder)
        self._refresh(self._db)
        return self._exactly(key)

    def _exactly(self, key: Key) -> Review:
        rows = self._db.execute(
            "SELECT review FROM reviews WHERE run = ? AND dataset = ? AND trace = ? ORDER BY folder", key
        ).fetchall()
        if len(rows) == 1:
            return msgspec.json.decode(rows[0][0], type=Review)
        if rows:
            named = " and ".join(msgspec.json.decode(row[0], type=Review).folder for row in rows[:2])
            raise ResolutionError(f"the run {key.run!r} stands in two folders, {named}; name one of them with --runs")
        others = {row[0] for row in self._db.execute("SELECT DISTINCT dataset FROM reviews WHERE run = ?", key[:1])}
        if others and key.dataset not in others:
            raise ResolutionError(
                f"the decision was made from the data set {key.dataset[:12]!r}, and the run {key.run!r} judged "
                f"{min(others)}; look at it again: a2a-trust jury review show"
            )
        raise ResolutionError(
            f"run {key.run!r}, trace {key.trace!r}: nothing of that name went to a person; see: a2a-trust jury review"
        )

    def _connect(self) -> sqlite3.Connection:
        """Open the database and bring it up to date.

        It is one in memory for a single run, where there are no runs, and where no file can be written or somebody
        else's stands.
        """
        path = self.place / DATABASE
        if not self._single and self._folders:
            with contextlib.suppress(sqlite3.OperationalError, OSError):
                if _is_foreign(path):
                    _LOG.warning("%s is no index of reviews and stays as it is; without one, all logs are read", path)
                    return self._fresh(":memory:")
                path.touch(files.FILE_MODE)
                try:
                    return self._fresh(str(path))
                except sqlite3.OperationalError:
                    raise
                except sqlite3.DatabaseError:
                    # Damaged, or not of this version: an index, and made anew.
                    path.unlink()
                    path.touch(files.FILE_MODE)
                    return self._fresh(str(path))
        return self._fresh(":memory:")

    def _fresh(self, name: str) -> sqlite3.Connection:
        db = _open(name)
        try:
            self._refresh(db)
        except BaseException:
            db.close()
            raise
        return db

    def _refresh(self, db: sqlite3.Connection) -> None:
        """Read each log that is not the one that was read, and forget the runs that are gone."""
        with db:
            known = {row[0]: row[1:] for row in db.execute("SELECT folder, size, changed FROM runs")}
            for name in known.keys() - self._folders.keys():
                db.execute("DELETE FROM runs WHERE folder = ?", (name,))
            for name, folder in self._folders.items():
                stat = (folder / LOG_NAME).stat()
                if known.get(name) != (stat.st_size, stat.st_mtime_ns):
                    _read(db, folder, (stat.st_size, stat.st_mtime_ns))


def _read(db: sqlite3.Connection, folder: Path, stamp: tuple[int, int]) -> None:
    """Put what a log says in the place of what it said when it was read before."""
    unread, found = "", list[Review]()
    try:
        found = list(reviews_of(folder))
    except (JuryLogError, RunFolderError) as error:
        unread = str(error)
    db.execute("DELETE FROM runs WHERE folder = ?", (folder.name,))
    db.execute("INSERT INTO runs VALUES (?, ?, ?, ?)", (folder.name, *stamp, unread))
    db.executemany(
        "INSERT INTO reviews VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            (one.run, one.dataset, one.trace, one.folder, number, one.resolution is None, msgspec.json.encode(one))
            for number, one in enumerate(found)
        ),
    )


def reviews_of(folder: Path) -> Iterator[Review]:
    """Yield what went to a person in a run that is finished, in the order of its log."""
    reading = Reading(read_lines(folder / LOG_NAME))
    reviews = [
        review
        for item in reading.items()
        for reached in item.of(OutcomeReached)
        if reached.status == "review"
        for review in [_review(folder, reading.run, item, reached)]
    ]
    if not reading.run.finished:
        return
    for review in reviews:
        resolved = reading.run.resolutions.get(review.trace)
        if resolved is None:
            yield review
        else:
            yield msgspec.structs.replace(
                review,
                resolution=Decision(
                    decision=resolved.decision, resolver=resolved.resolver, note=resolved.note, time=resolved.time
                ),
            )


def item_of(folder: Path, trace: str) -> tuple[Run, Item]:
    """Return an item of a run with all that was said about it."""
    reading = Reading(read_lines(folder / LOG_NAME))
    found = [item for item in reading.items() if item.opened.item == trace]
    if not found:
        raise ResolutionError(f"{trace!r}: the log in {folder} holds no such trace any more")
    return reading.run, found[0]


def _review(folder: Path, run: Run, item: Item, reached: OutcomeReached) -> Review:
    return Review(
        run=run.opened.run,
        dataset=run.opened.case,
        trace=item.opened.item,
        folder=folder.name,
        title=run.opened.title,
        question=item.opened.question,
        options=item.opened.options,
        reason=reached.reason,
        votes={event.actor: verdict_of(event).vote for event in item.of(Answered) if event.step == "verdict"},
        since=reached.time,
        line=item.line,
        resolution=None,
    )


def _runs(place: Path) -> Iterator[Path]:
    """Yield the folders of runs in a place: itself, or those directly in it."""
    if (place / LOG_NAME).is_file():
        yield place
    elif place.is_dir():
        yield from (folder for folder in sorted(place.iterdir()) if (folder / LOG_NAME).is_file())


def _open(name: str) -> sqlite3.Connection:
    """Open a database, and make its tables where it is new. Raises DatabaseError where it is another one."""
    db = sqlite3.connect(name, timeout=_BUSY_SECONDS)
    try:
        db.execute("PRAGMA foreign_keys = ON")
        if _version(db) == 0:
            marks = f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {_VERSION};"
            db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} {marks} COMMIT;")
    except BaseException:
        db.close()
        raise
    return db


def _is_foreign(path: Path) -> bool:
    """Tell whether a file holds something that this program did not write."""
    if not path.exists():
        return False
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    # https://www.sqlite.org/fileformat.html: the application's id stands at byte 68.
    return bool(header) and int.from_bytes(header[68:72], "big") != _APPLICATION


def _version(db: sqlite3.Connection) -> int:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version not in {0, _VERSION}:
        raise sqlite3.DatabaseError(f"version {version}")
    return int(version)


def _filled(option: str, text: str, limit: int) -> str:
    text = text.strip()
    if not text:
        raise ResolutionError(f"{option} is blank; a decision says who made it and why")
    if len(text) > limit:
        raise ResolutionError(f"{option} is {len(text)} characters long; at most {limit} are kept")
    return text
