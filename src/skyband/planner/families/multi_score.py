"""Multi-score families: queries over the same windows that differ only in score and filter, served by one index.

Every query keeps its own list there, but a record is stored once, and looked at only by the queries whose lists it
could enter. Such a family has at most eight attributes, the expressions that the scores and filters are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING

from skyband.engines.base import Registration, registered, registration
from skyband.errors import SkybandError
from skyband.model import Above, MetaQuery, Query, TopK, Window
from skyband.model.many import MOST_COLUMNS, Attribute, Scores, ScoreSpec, Shape
from skyband.model.score_type import DOUBLE, double_below
from skyband.planner.choice import ASKED_FOR, Choice, first_choice, one_of
from skyband.planner.families.base import UNLIMITED, Facts, FamilyKind, refused, unable
from skyband.planner.families.family import Family
from skyband.planner.families.placement import NOWHERE, Placement, placed

if TYPE_CHECKING:
    from skyband.planner.plan import PlannedFamily

MANY = 8
"""So many families that differ only in score and filter become one. Measured over 100,000 rows with k = 20: 4 scores
cost the same either way, 8 apart cost 2.2 times the one, 128 apart 27 times; but apart only candidates are kept."""
SPARK_DEALT = "tasks send on what some query may need; queries are dealt to keys of the state, which keep no more"
SPARK_WHOLE = (
    "the stream travels whole, to one key of the state (with --parts N to N, by KEY, where no changes are sent)"
)
DELETES = "the stream has deletes, so every record of the window is kept: a better one may be taken back"
ShapeOf = Callable[[str, str | None], Shape]


class MultiScoreFamilies(FamilyKind):
    word = "multi-score family"

    def meta(self, family: Family) -> MetaQuery:
        asked = tuple(score_spec(family, *each) for each in zip(family.queries, family.shapes, strict=True))
        deletes = family.stream.op is not None
        return replace(super().meta(family), scores=Scores(len(family.attributes), asked, deletes))

    def choose(self, family: Family, forced: str | None) -> Choice:
        engine = _engine(family, forced)
        assert engine is not None
        return Choice(engine.name, _reason(family, len(family.queries), forced))

    def title(self, family: Family) -> str:
        return f"over {family.stream.name} that differ in score or filter"

    def facts(self, planned: PlannedFamily) -> Facts:
        family = planned.family
        linear = sum(bool(shape.terms) for shape in family.shapes)
        limited = sum(bool(shape.ranges) for shape in family.shapes)
        scores = f"{len(family.shapes):,}, {linear:,} of them weighted sums of these"
        return [
            ("grid", ", ".join(map(str, family.attributes))),
            ("scores", scores + (f"; {limited:,} look at a part of the grid only" if limited else "")),
            ("keeps", "every record of the window, once; a list for each query"),
            ("on Spark", SPARK_WHOLE if family.stream.op else SPARK_DEALT),
        ]


def score_spec(family: Family, query: Query, shape: Shape) -> ScoreSpec:
    """A query of a multi-score family as its engine wants it."""
    threshold = double_below(query.threshold) if isinstance(query, Above) else None
    k = query.k if isinstance(query, TopK) else UNLIMITED
    return shape.spec(family.attributes, k, threshold, query.ascending)


def multi_score(
    families: Sequence[Family], shape: ShapeOf, forced: str | None = None, placement: Placement = NOWHERE
) -> list[tuple[Family, Choice]]:
    """The multi-score families there are to be, and who serves them. Other families stay as they are, and so do queries
    that have a place already."""
    asked = forced in registered("multi_score")
    found = []
    # Attributes are doubles: queries whose scores are not stay by themselves, unless who reads this asked otherwise.
    shareable = families if asked else [each for each in families if each.stream.op or not each.score_type.whole]
    for alike in _alike(shareable):
        for family, members in _shared(alike, shape, placement, always=asked or alike[0].stream.op is not None):
            engine = _engine(family, forced)
            if engine is not None:
                found.append((family, Choice(engine.name, _reason(family, members, forced))))
    return found


def _shared(
    alike: Sequence[Family], shape: ShapeOf, placement: Placement, always: bool
) -> Iterator[tuple[Family, int]]:
    """The multi-score families of queries with one window, each with the number of families that it is made of."""

    def needs(family: Family) -> Set[Attribute]:
        return set(shape(family.queries[0].by, family.queries[0].where).attributes)

    if always:  # Nobody can be apart.
        placement = {text: attributes for text, attributes in placement.items() if attributes}
    known, rest = placed(alike, needs, placement) if placement else ({}, alike)
    for attributes, members in known.items():
        yield replace(one_family(members, shape), attributes=attributes), len(members)
    for members in _in_eights(rest, needs):
        if always or len(members) >= MANY:
            yield one_family(members, shape), len(members)


def one_family(members: Sequence[Family], shape: ShapeOf) -> Family:
    """One family of all their queries, in the workload's order."""
    first = members[0]
    placed = sorted((place, query) for each in members for place, query in zip(each.places, each.queries, strict=True))
    queries = tuple(query for _, query in placed)
    shapes = tuple(shape(query.by, query.where) for query in queries)
    columns = tuple(dict.fromkeys(attribute for each in shapes for attribute in each.attributes))
    places = tuple(place for place, _ in placed)
    return Family(first.stream, "", False, None, (), first.kind, False, queries, places, shapes, columns)


def joined(family: Family, query: Query, place: int, shape: ShapeOf) -> Family | None:
    """The multi-score family with one more query; None if it needs other windows or attributes, or shows columns that
    were not kept."""
    shown = "*" in family.selected or set(query.select) <= set(family.selected)
    logged = query.changes and not any(each.changes for each in family.queries)
    other = query.per or query.across is not None or query.specials or query.then is not None or query.group_by
    if query.window != family.queries[0].window or other or logged or not shown:
        return None
    asked = shape(query.by, query.where)
    if not set(asked.attributes) <= set(family.attributes):
        return None
    queries, places, shapes = (*family.queries, query), (*family.places, place), (*family.shapes, asked)
    return replace(family, queries=queries, places=places, shapes=shapes)


def regrouped(family: Family, attributes: tuple[Attribute, ...], shape: ShapeOf) -> Family:
    """A family of these queries as the multi-score family with these attributes that it was."""
    shapes = tuple(shape(query.by, query.where) for query in family.queries)
    plain = replace(family, by="", ascending=False, where=None, thresholds=False, score_type=DOUBLE)
    return replace(plain, shapes=shapes, attributes=attributes)


def _alike(families: Sequence[Family]) -> list[list[Family]]:
    """Families without PER whose queries all have the same window, by stream and window."""
    groups: dict[tuple[object, ...], list[Family]] = {}
    for family in families:
        for part in _by_window(family):
            alone = part.per or part.queries[0].specials or part.then is not None
            if not alone and part.data_model == "complete":
                groups.setdefault((part.stream.name, part.queries[0].window), []).append(part)
    return list(groups.values())


def _by_window(family: Family) -> list[Family]:
    windows: dict[Window, list[int]] = {}
    for number, query in enumerate(family.queries):
        windows.setdefault(query.window, []).append(number)
    return [family] if len(windows) == 1 else [family.of(members) for members in windows.values()]


def _in_eights(families: Sequence[Family], needs_of: Callable[[Family], Set[Attribute]]) -> list[list[Family]]:
    """First come, first served: a family joins the first that has room for its attributes."""
    found: list[tuple[set[Attribute], list[Family]]] = []
    known: set[Attribute] = set()
    # By number of columns: those of `found` that have room for so many more, the first first.
    room: list[dict[int, None]] = [{} for _ in range(MOST_COLUMNS + 1)]
    for family in families:
        needs = needs_of(family)
        fitting = (each for each in room[len(needs - known)] if len(found[each][0] | needs) <= MOST_COLUMNS)
        number = next(fitting, len(found))
        if number == len(found):
            found.append((set(), []))
            for roomy in room:
                roomy[number] = None
        columns, members = found[number]
        columns |= needs
        known |= needs
        members.append(family)
        for roomy in room[MOST_COLUMNS - len(columns) + 1 :]:
            roomy.pop(number, None)
    return [members for _, members in found]


def _engine(family: Family, forced: str | None) -> Registration | None:
    """Who could serve such families as one; None if another data model's engine was asked for."""
    known, stream = registered("multi_score"), family.stream
    able = [each for each in known.values() if each.capabilities.deletes or stream.op is None]
    able = [each for each in able if unable(family, each) is None]
    if forced is None:
        return first_choice(able)
    if forced in known and (why := unable(family, known[forced])):
        raise refused(known[forced], why, able)
    if stream.op is not None and (forced not in known or known[forced] not in able):
        drops = "drops records that newer and better ones will outlive, and a delete may take those away"
        raise SkybandError(
            f"engine {forced} {drops if forced in known else 'takes no deletes'}, "
            f"and stream {stream.name} has deletes (OP = {stream.op})",
            expected=one_of(able),
            hint=f"leave the engine out, and {first_choice(able).name} is taken",
        )
    return known.get(registration(forced).name)


def _reason(family: Family, count: int, forced: str | None) -> str:
    if family.stream.op is not None:
        return DELETES if forced is None else f"{ASKED_FOR}; {DELETES}"
    if forced is not None:
        return ASKED_FOR
    return (
        f"{count:,} scores and filters over the same windows: one grid holds the records, and an arrival is scored "
        "only by the queries whose lists it could enter"
    )
