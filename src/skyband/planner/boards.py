"""Boards: families over the same windows that differ only in score and filter, served by one index.

Every query keeps its own list there, but a record is stored once, and looked at only by the queries whose lists it
could enter. A board has at most eight attributes, the expressions that the scores and filters are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from skyband.engines.base import registered_many
from skyband.errors import SkybandError
from skyband.model import Query
from skyband.model.many import MOST_COLUMNS, Attribute, Shape
from skyband.planner.choose import Choice
from skyband.planner.families import Family

MANY = 8
"""So many families that differ only in score and filter go on a board. Measured over 100,000 rows with k = 20: 4 scores
cost the same either way, 8 apart cost 2.2 times the board, 128 apart 27 times; but apart only candidates are kept."""
ShapeOf = Callable[[str, str | None], Shape]


def boards(families: Sequence[Family], shape: ShapeOf, forced: str | None = None) -> list[tuple[Family, Choice]]:
    """The boards there are to be, and who serves them. Families that are on none stay as they are."""
    found = []
    for alike in _alike(families):
        engine, reason = _engine(alike, forced)
        if engine is None:
            continue
        for members in _in_eights(alike, shape):
            wanted = forced in registered_many() or alike[0].stream.op is not None
            if wanted or len(members) >= MANY:
                found.append((board(members, shape), Choice(engine, reason(len(members)))))
    return found


def board(members: Sequence[Family], shape: ShapeOf) -> Family:
    """One family of all their queries, in the workload's order."""
    first = members[0]
    placed = sorted((place, query) for each in members for place, query in zip(each.places, each.queries, strict=True))
    queries = tuple(query for _, query in placed)
    shapes = tuple(shape(query.by, query.where) for query in queries)
    columns = tuple(dict.fromkeys(attribute for each in shapes for attribute in each.attributes))
    places = tuple(place for place, _ in placed)
    return Family(first.stream, "", False, None, (), first.kind, False, queries, places, shapes, columns)


def part(board: Family, which: Sequence[int]) -> Family:
    """The same board with these of its queries only."""
    queries, places = tuple(board.queries[i] for i in which), tuple(board.places[i] for i in which)
    return replace(board, queries=queries, places=places, shapes=tuple(board.shapes[i] for i in which))


def joined(board: Family, query: Query, place: int, shape: ShapeOf) -> Family | None:
    """The board with one more query; None if it needs other windows or attributes."""
    if query.window != board.queries[0].window or query.per or query.across is not None:
        return None
    asked = shape(query.by, query.where)
    if not set(asked.attributes) <= set(board.attributes):
        return None
    queries, places, shapes = (*board.queries, query), (*board.places, place), (*board.shapes, asked)
    return Family(board.stream, "", False, None, (), board.kind, False, queries, places, shapes, board.attributes)


def _alike(families: Sequence[Family]) -> list[list[Family]]:
    """Families without PER whose queries all have the same window, by stream and window."""
    groups: dict[tuple[object, ...], list[Family]] = {}
    for family in families:
        for part in _by_window(family):
            if not part.per and not part.uncertain and part.across is None:
                groups.setdefault((part.stream, part.queries[0].window), []).append(part)
    return list(groups.values())


def _by_window(family: Family) -> list[Family]:
    windows = dict.fromkeys(query.window for query in family.queries)
    if len(windows) == 1:
        return [family]
    parts = []
    for window in windows:
        mine = [i for i, query in enumerate(family.queries) if query.window == window]
        queries, places = tuple(family.queries[i] for i in mine), tuple(family.places[i] for i in mine)
        parts.append(replace(family, queries=queries, places=places))
    return parts


def _in_eights(families: Sequence[Family], shape: ShapeOf) -> list[list[Family]]:
    """First come, first served: a family joins the first board that has room for its attributes."""
    found: list[tuple[set[Attribute], list[Family]]] = []
    for family in families:
        needs = set(shape(family.queries[0].by, family.queries[0].where).attributes)
        for columns, members in found:
            if len(columns | needs) <= MOST_COLUMNS:
                columns |= needs
                members.append(family)
                break
        else:
            found.append((needs, [family]))
    return [members for _, members in found]


def _engine(alike: Sequence[Family], forced: str | None) -> tuple[str | None, Callable[[int], str]]:
    """Who could serve these families on a board, and why; None if a board is out of the question."""
    stream = alike[0].stream
    known = registered_many()
    if stream.op is not None:
        if forced is not None and not (forced in known and known[forced].capabilities.deletes):
            able = ", ".join(name for name, each in known.items() if each.capabilities.deletes)
            why = (
                "drops records that newer and better ones will outlive, and a delete may take those away"
                if forced == "sma"
                else "takes no deletes"
            )
            raise SkybandError(
                f"engine {forced} {why}, and stream {stream.name} has deletes (OP = {stream.op})",
                expected=f"one of {able}",
                hint="leave the engine out, and tma is taken",
            )
        text = "the stream has deletes, so every record of the window is kept: a better one may be taken back"
        return forced or "tma", lambda count: text
    if forced is not None:
        return (forced if forced in known else None), lambda count: "asked for"
    return (
        "sma",
        lambda count: (
            f"{count:,} scores and filters over the same windows: one grid holds the records, and an arrival is scored "
            "only by the queries whose lists it could enter"
        ),
    )
