"""Queries: [CREATE QUERY name AS] SELECT TOP k [PER ...] ... FROM stream [window] and the clauses behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from skyband.errors import SkybandError, Span
from skyband.language.clauses.columns import Column, check_groupable, columns as read_columns
from skyband.language.clauses.cursor import Cursor, located
from skyband.language.clauses.grouping import Grouped, read_group_by, read_items, two_keys_of_groups
from skyband.language.clauses.lengths import Frame, Length, duration, frame, measure, window
from skyband.language.clauses.limits import Capped, Limit, level, read_at_most, read_limit, read_ties
from skyband.language.clauses.objects import Objects, object_score, read_approximate, read_objects
from skyband.language.clauses.of_records import refuse_aggregates
from skyband.language.clauses.ranking import between_commas, check_key, directed
from skyband.language.clauses.select import Selected, read_select, select_of
from skyband.language.clauses.stream import Declared
from skyband.language.clauses.table import read_join
from skyband.language.clauses.words import CLAUSES, Said, expression, unknown_clause
from skyband.language.expressions.aliases import no_alias
from skyband.language.expressions.bind import did_you_mean, find_column
from skyband.language.expressions.compiled import check_filter, check_number
from skyband.language.settled import settled
from skyband.model import Above, Approximate, Join, Query, Then, TopK
from skyband.model.checks import check_semantics
from skyband.model.select import Item
from skyband.model.using import Using, names as semantics_names

_WINDOWED = ("TABLE", "TUMBLE", "HOP", "CUMULATE", "SESSION")


@dataclass
class _Draft:
    """What has been read so far, each part with its place."""

    limit: Limit | None
    per: list[Column]
    select: list[Selected]
    source: Said
    frame: Frame
    join: Join | None = None
    where: Said | None = None
    by: Said | None = None
    ascending: bool = False
    directed: bool = False
    """ASC or DESC was said, of every key."""
    then: Said | None = None
    then_ascending: bool = False
    error: Said | None = None
    frequency: Length | None = None
    using: Using | None = None
    objects: Objects | None = None
    grouped: Grouped | None = None
    approximate: Approximate | None = None
    changes: bool = False
    ties: bool = False
    at_most: Capped | None = None
    half_life: Length | None = None
    seen: list[str] = field(default_factory=list)


def select_query(cursor: Cursor, name: str, place: Span, streams: Mapping[str, Declared]) -> Query:
    """Reads what follows the word SELECT."""
    limit = read_limit(cursor)
    ties = limit is not None and read_ties(cursor, limit)
    at_most = read_at_most(cursor)
    per, grouped = _per(cursor), _grouped(cursor)
    select = [] if grouped else _columns(cursor)
    draft = _Draft(limit, per, select, _source(cursor), frame(cursor), grouped=grouped, ties=ties, at_most=at_most)
    while not cursor.done:
        _clause(cursor, draft)
    if draft.by is not None and not draft.directed and ("LIMIT" in draft.seen or "FETCH" in draft.seen):
        # In SQL that is ASC, and the highest first behind TOP.
        raise SkybandError(
            "ORDER BY with LIMIT or FETCH, and no direction",
            expected="`DESC` for the highest first, or `ASC`",
            span=draft.by[1],
        )
    if draft.limit is None:
        raise cursor.error("the query does not say how many", expected="`SELECT TOP k`, or `LIMIT k` at the end")
    declared = _lookup(draft.source, streams)
    if draft.join is not None:
        # What a table has is known when it is read.
        declared = replace(declared, schema=None)
    return _query(name, draft, draft.limit, declared, place)


# -------------------------------------------------------------------------------------------------------- the clauses


def _per(cursor: Cursor) -> list[Column]:
    is_column = cursor.is_sign(",", ahead=1) or _at_from(cursor, ahead=1)
    if is_column or not cursor.accept("PER"):
        return []
    return read_columns(cursor, "a column to group by")


def _grouped(cursor: Cursor) -> Grouped | None:
    """What a query with GROUP BY selects; its clauses are read where they stand."""
    if not any(cursor.is_word("GROUP", "BY", ahead=at) for at in range(len(cursor.tokens) - cursor.at)):
        return None
    everything = cursor.accept("*") or _at_from(cursor)
    return Grouped([] if everything else read_items(cursor))


def _columns(cursor: Cursor) -> list[Selected]:
    place = cursor.here()
    if cursor.accept("*") or _at_from(cursor):
        return [Column("*", None, place)]
    return read_select(cursor, lambda: _at_from(cursor))


def _at_from(cursor: Cursor, ahead: int = 0) -> bool:
    """Whether the word FROM here opens the clause. Columns may have that name; then a later FROM has the window."""
    later = range(ahead + 1, len(cursor.tokens) - cursor.at)
    if _has_window(cursor, ahead):
        return True
    return cursor.is_word("FROM", ahead=ahead) and not any(_has_window(cursor, at) for at in later)


def _has_window(cursor: Cursor, ahead: int) -> bool:
    return cursor.is_word("FROM", ahead=ahead) and cursor.is_name(ahead + 1) and cursor.is_sign("[", ahead + 2)


def _source(cursor: Cursor) -> Said:
    cursor.expect("FROM", where="after the selected columns")
    place = cursor.here()
    if any(cursor.is_word(word) for word in _WINDOWED) and cursor.is_sign("(", ahead=1):
        raise cursor.error(
            f"found {cursor.found()} in place of the stream's name",
            expected="the stream, and its window in square brackets",
            hint="TUMBLE is [RANGE 10 MINUTES], HOP is [RANGE 10 MINUTES SLIDE 1 MINUTE], "
            "CUMULATE is [RANGE 1 DAY CUMULATE 1 MINUTE]",
        )
    return cursor.name("the stream's name"), place


def _clause(cursor: Cursor, draft: _Draft) -> None:
    start = cursor.at
    for words in CLAUSES:
        if cursor.accept(*words):
            clause = words[-1] if words[0] == "WITH" else words[0]
            if clause in draft.seen:
                cursor.at = start
                raise cursor.error(f"{' '.join(words)} stands twice in this query", expected="each clause once")
            draft.seen.append(clause)
            _READERS[clause](cursor, draft)
            return
    raise unknown_clause(cursor)


def _join(cursor: Cursor, draft: _Draft) -> None:
    draft.join = read_join(cursor)


def _where(cursor: Cursor, draft: _Draft) -> None:
    draft.where = expression(cursor, cursor.skip_to(CLAUSES), "WHERE")


def _order(cursor: Cursor, draft: _Draft) -> None:
    """ORDER BY price DESC, size ASC: a second key ranks equal scores."""
    said = cursor.skip_to(CLAUSES)
    first, *more = between_commas(said)
    tokens, direction = directed(first)
    draft.by = expression(cursor, tokens, "ORDER BY")
    if direction is not None:
        draft.ascending, draft.directed = direction == "ASC", True
    if len(more) > 1:
        raise SkybandError(
            f"a query ranks by two expressions at most, and here are {len(more) + 1}",
            expected="ORDER BY score, and one more for equal scores",
            hint="what is equal in both is ranked newer first, then by key",
            span=cursor.span(more[1] or said),
        )
    for tokens in more:
        tokens, direction = directed(tokens)
        draft.then, draft.then_ascending = expression(cursor, tokens, "ORDER BY"), direction == "ASC"
        draft.directed = draft.directed and direction is not None


def _error(cursor: Cursor, draft: _Draft) -> None:
    """WITH ERROR mag_err; the direction may stand behind it as well as behind the score."""
    tokens, direction = directed(cursor.skip_to(CLAUSES))
    draft.error = expression(cursor, tokens, "WITH ERROR")
    if direction is not None:
        draft.ascending, draft.directed = direction == "ASC", True


def _count(cursor: Cursor, draft: _Draft) -> None:
    """LIMIT 10, or FETCH FIRST 10 ROWS ONLY."""
    fetch, start = cursor.is_word("FIRST", ahead=-1) or cursor.is_word("NEXT", ahead=-1), cursor.at
    number = "1" if fetch and (cursor.is_word("ROW") or cursor.is_word("ROWS")) else cursor.number("k")
    span = cursor.since(start)
    if fetch and not (cursor.accept("ROWS") or cursor.accept("ROW")):
        raise cursor.error(f"found {cursor.found()} after FETCH FIRST k", expected="`ROWS ONLY`")
    draft.ties = fetch and cursor.accept("WITH", "TIES")
    if fetch and not draft.ties:
        cursor.expect("ONLY", where="after FETCH FIRST k ROWS")
    if draft.limit is not None:
        raise SkybandError(
            f"both {draft.limit[0]} and {'FETCH' if fetch else 'LIMIT'} were given", expected="one of them", span=span
        )
    draft.limit = "TOP", number, span


def _decay(cursor: Cursor, draft: _Draft) -> None:
    draft.half_life = duration(cursor, "the half life")


def _frequency(cursor: Cursor, draft: _Draft) -> None:
    draft.frequency = measure(cursor, draft.frame.kind, "the frequency")


def _using(cursor: Cursor, draft: _Draft) -> None:
    """USING U_TOPK, USING PT_K(0.8)."""
    start, level = cursor.at, None
    word = cursor.name("a semantics")
    if cursor.accept("("):
        level = float(cursor.number("the level"))
        cursor.expect(")", where="after the level")
    span = cursor.since(start)
    if word.upper() not in semantics_names():
        raise SkybandError(
            f"there is no semantics called `{word}`",
            expected="one of " + ", ".join(semantics_names()),
            hint=did_you_mean(word, semantics_names()),
            span=span,
        )
    try:
        draft.using = Using(word, level)
    except SkybandError as error:
        raise located(error, span) from None


def _object(cursor: Cursor, draft: _Draft) -> None:
    draft.objects = read_objects(cursor)


def _group(cursor: Cursor, draft: _Draft) -> None:
    assert draft.grouped is not None
    read_group_by(cursor, draft.grouped)


def _having(cursor: Cursor, draft: _Draft) -> None:
    place = cursor.here()
    said = expression(cursor, cursor.skip_to(CLAUSES), "HAVING")
    _of_groups(draft, "HAVING", place).having = said


def _rest(cursor: Cursor, draft: _Draft) -> None:
    _of_groups(draft, "WITH REST", cursor.here()).rest = True


def _of_groups(draft: _Draft, clause: str, place: Span) -> Grouped:
    if draft.grouped is None:
        raise SkybandError(f"{clause} without GROUP BY", expected="GROUP BY and the columns", span=place)
    return draft.grouped


def _exact(cursor: Cursor, draft: _Draft) -> None:
    """What every answer is unless it says otherwise."""
    if "APPROXIMATE" in draft.seen:
        cursor.at -= 1
        raise cursor.error("both EXACT and APPROXIMATE were given", expected="one of them")


def _approximate(cursor: Cursor, draft: _Draft) -> None:
    if "EXACT" in draft.seen:
        cursor.at -= 1
        raise cursor.error("both EXACT and APPROXIMATE were given", expected="one of them")
    draft.approximate = read_approximate(cursor)


def _changes(cursor: Cursor, draft: _Draft) -> None:
    draft.changes = True


_READERS = {
    "JOIN": _join, "WHERE": _where, "OBJECT": _object, "GROUP": _group, "HAVING": _having, "ORDER": _order,
    "DECAY": _decay, "REST": _rest, "ERROR": _error, "FREQUENCY": _frequency, "USING": _using, "EXACT": _exact,
    "APPROXIMATE": _approximate, "EMIT": _changes, "LIMIT": _count, "FETCH": _count,
}  # fmt: skip


# ---------------------------------------------------------------------------------------------------------- the query


def _lookup(source: Said, streams: Mapping[str, Declared]) -> Declared:
    name, span = source
    found = find_column(name, streams)
    if found is not None:
        return streams[found]
    raise SkybandError(
        f"there is no stream `{name}`",
        expected="one of " + ", ".join(streams) if streams else None,
        hint=did_you_mean(name, streams) or f"declare it: CREATE STREAM {name} WITH (TIME = ts);",
        span=span,
    )


def _query(name: str, draft: _Draft, limit: Limit, declared: Declared, place: Span) -> Query:
    stream = declared.stream.name
    by = _ranking(draft, limit, declared)
    items = _items(draft)
    if draft.where is not None:
        refuse_aggregates(draft.where, "WHERE")
        with no_alias(items):
            check_filter(draft.where[0], declared.schema, stream, place.source, draft.where[1].start)
    if draft.then is not None and draft.grouped is not None:
        raise two_keys_of_groups(draft.then[1])
    if draft.then is not None:
        refuse_aggregates(draft.then, "ORDER BY")
        check_key(draft.then, items, declared)
    if draft.error is not None:
        check_number(draft.error[0], declared.schema, stream, place.source, draft.error[1].start)
    check_groupable(draft.per, declared, "PER")
    check_groupable(draft.at_most.per if draft.at_most else [], declared, "AT MOST ... PER")
    if draft.objects is not None:
        check_groupable([*draft.objects.object, draft.objects.stream], declared, "OBJECT ... ACROSS")
    frame = window(draft.frame, draft.frequency)
    word, number, span = limit
    if word == "ABOVE":
        _refuse_above(draft)
    try:
        limited = partial(Above, name, level(number)) if word == "ABOVE" else partial(TopK, name, _whole(number, span))
        listed = {} if word == "ABOVE" else _listed(draft, declared)
        query: Query = limited(
            by,
            frame,
            where=draft.where[0] if draft.where else None,
            per=[column.of(declared) for column in draft.per],
            **_selected(draft, declared),
            ascending=draft.ascending,
            changes=draft.changes,
            stream=stream,
            using=draft.using,
            across=draft.objects.across(declared, by) if draft.objects else None,
            approximate=draft.approximate or False,
            error=draft.error[0] if draft.error else None,
            then=Then(draft.then[0], draft.then_ascending) if draft.then else None,
            join=draft.join,
            **listed,
        )
        # What is asked of groups is known in their normal form; objects are checked where the mistake stands, first.
        query = settled(query) if draft.objects is None else query
        check_semantics(query, declared.stream)
    except SkybandError as error:
        raise located(error, span) from None
    if draft.objects is not None and draft.by is not None:
        draft.objects.check(query, draft.by[1])
    return settled(query)


def _items(draft: _Draft) -> list[Item]:
    """The expressions with names that it shows of a record."""
    return [each[0] for each in draft.select if not isinstance(each, Column)]


def _selected(draft: _Draft, declared: Declared) -> dict[str, Any]:
    """What is shown; of groups all that GROUP BY brings with it."""
    if draft.grouped is None:
        return {"select": select_of(draft.select, declared)}
    assert draft.by is not None
    return draft.grouped.asked(declared, draft.by, draft.limit is not None and draft.limit[0] == "ABOVE")


def _listed(draft: _Draft, declared: Declared) -> dict[str, Any]:
    """What is said of lists of k records only."""
    half_life = None if draft.half_life is None else f"{draft.half_life.amount} microseconds"
    capped = None if draft.at_most is None else draft.at_most.of(declared)
    return {"ties": draft.ties, "half_life": half_life, "at_most": capped}


def _refuse_above(draft: _Draft) -> None:
    if draft.half_life is not None:
        raise SkybandError(
            "ABOVE has a threshold for scores as they are, and DECAY lets them fall",
            expected="TOP k with DECAY",
            span=draft.half_life.span,
        )
    if draft.at_most is not None:
        raise SkybandError(
            "ABOVE lists every record above its threshold, and AT MOST leaves some out",
            expected="`TOP k AT MOST n PER column`",
            span=draft.at_most.span,
        )


def _whole(number: str, span: Span) -> int:
    if not number.lstrip("-").isdigit():
        raise SkybandError(f"k must be a whole number from 1 on, not {number}", span=span)
    return int(number)


def _ranking(draft: _Draft, limit: Limit, declared: Declared) -> str:
    if draft.objects is not None and draft.by is None:
        raise SkybandError(
            "the query does not say how the attributes of an object make its score",
            expected=draft.objects.wanted,
            span=draft.objects.span,
        )
    if draft.grouped is not None:
        if draft.by is None:
            raise SkybandError(
                "the query does not say by what groups are ranked",
                expected="ORDER BY and an aggregate, such as COUNT(*) DESC",
                span=limit[2],
            )
        return draft.by[0]
    if draft.by is not None:
        text, span = draft.by
        if draft.objects is not None and draft.objects.named:
            draft.objects.check_value(declared)
            return text
        if draft.objects is not None:
            word, value, begin = object_score(text, span)
            check_number(value, declared.schema, declared.stream.name, span.source, begin)
            return f"{word}({value})"
        a_number = limit[0] == "ABOVE" or draft.error is not None or draft.half_life is not None
        refuse_aggregates(draft.by, "ORDER BY")
        check_key(draft.by, _items(draft), declared, a_number)
        return text
    if declared.score is not None:
        return declared.score
    raise SkybandError(
        "the query does not say what to rank by",
        expected="ORDER BY expression",
        hint=f"or give the stream a default: CREATE STREAM {declared.stream.name} WITH (..., SCORE = expression)",
        span=limit[2],
    )
