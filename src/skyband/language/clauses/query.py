"""Queries: [CREATE QUERY name AS] SELECT TOP k [PER ...] ... FROM stream [window] and the clauses behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

from sqlglot.tokenizer_core import TokenType

from skyband.errors import SkybandError, Span
from skyband.language.clauses.columns import Column, columns as read_columns
from skyband.language.clauses.cursor import OPERATOR_WORDS, Cursor, ends_operand, located
from skyband.language.clauses.lengths import Frame, Length, frame, measure, window
from skyband.language.clauses.objects import Objects, object_score, read_approximate, read_objects
from skyband.language.clauses.stream import Declared
from skyband.language.clauses.table import read_join
from skyband.language.expressions.bind import did_you_mean, find_column
from skyband.language.expressions.compiled import check_filter, check_number, check_score
from skyband.language.expressions.ranking import check_varies
from skyband.language.expressions.scan import Token
from skyband.model import Above, Approximate, Join, Query, TopK
from skyband.model.checks import check_semantics
from skyband.model.using import Using, names as semantics_names

_CLAUSES: tuple[tuple[str, ...], ...] = (
    ("JOIN",), ("WHERE",), ("OBJECT",), ("ORDER", "BY"), ("WITH", "ERROR"), ("FREQUENCY",), ("USING",), ("EXACT",),
    ("APPROXIMATE",), ("EMIT", "CHANGES"),
)  # fmt: skip
_WORDS = tuple(words[0] for words in _CLAUSES)
_CLAUSE_LIST = ", ".join(f"`{' '.join(words)}`" for words in _CLAUSES) + " or `;`"
_CLAUSES += (("LIMIT",), ("FETCH", "FIRST"), ("FETCH", "NEXT"))
"""The last say what TOP says, where SQL says it."""
_WINDOWED = ("TABLE", "TUMBLE", "HOP", "CUMULATE", "SESSION")
_FOREIGN = {
    "GROUP": "SELECT TOP k PER column ranks each group by itself",
    "HAVING": "conditions go into WHERE",
    "INNER": "write JOIN",
    "LEFT": "a record without a row in the table does not qualify: write JOIN",
    "PER": "PER stands right after TOP k or ABOVE x",
    "NULLS": "a record without a score is never ranked",
    "EMIT": "write EMIT CHANGES",
    "WITH": "write WITH ERROR and the score's standard error",
    "SLIDE": "SLIDE stands inside the window's square brackets",
}


Limit = tuple[str, str, Span]
"""TOP or ABOVE, the number, and where it stands."""


@dataclass
class _Draft:
    """What has been read so far, each part with its place."""

    limit: Limit | None
    per: list[Column]
    select: list[Column]
    source: tuple[str, Span]
    frame: Frame
    join: Join | None = None
    where: tuple[str, Span] | None = None
    by: tuple[str, Span] | None = None
    ascending: bool = False
    directed: bool = False
    """ASC or DESC was said."""
    error: tuple[str, Span] | None = None
    frequency: Length | None = None
    using: Using | None = None
    objects: Objects | None = None
    approximate: Approximate | None = None
    changes: bool = False
    seen: list[str] = field(default_factory=list)


def select_query(cursor: Cursor, name: str, place: Span, streams: Mapping[str, Declared]) -> Query:
    """Reads what follows the word SELECT."""
    limit = _limit(cursor)
    draft = _Draft(limit, _per(cursor), _columns(cursor), _source(cursor), frame(cursor))
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


def _limit(cursor: Cursor) -> Limit | None:
    """TOP 10, the paper's top-10, or ABOVE -1.5; nothing where LIMIT or FETCH stands behind."""
    for word in ("TOP", "ABOVE"):
        if cursor.accept(word):
            start = cursor.at
            dash = cursor.is_sign("-") and _glued(cursor)
            sign = "-" if cursor.accept("-") and not (word == "TOP" and dash) else ""
            number = cursor.number("k" if word == "TOP" else "the threshold")
            return word, sign + number, cursor.since(start + (word == "TOP" and dash))
    if any(cursor.is_word(word, ahead=at) for at in range(len(cursor.tokens)) for word in ("LIMIT", "FETCH")):
        return None
    token = cursor.peek()
    hint = did_you_mean(token.text, ("TOP", "ABOVE")) if token and cursor.is_name() else None
    raise cursor.error(f"found {cursor.found()} after SELECT", expected="`TOP k` or `ABOVE x`", hint=hint)


def _level(number: str) -> float:
    """A threshold; one written as a whole number is that number."""
    return int(number) if number.lstrip("-").isdigit() else float(number)


def _glued(cursor: Cursor) -> bool:
    """`top-3` without spaces is the paper's spelling; `TOP -3` is a mistake."""
    word, dash, number = cursor.peek(-1), cursor.peek(), cursor.peek(1)
    return bool(word and dash and number and word.end + 1 == dash.start and dash.end + 1 == number.start)


def _per(cursor: Cursor) -> list[Column]:
    is_column = cursor.is_sign(",", ahead=1) or _at_from(cursor, ahead=1)
    if is_column or not cursor.accept("PER"):
        return []
    return read_columns(cursor, "a column to group by")


def _columns(cursor: Cursor) -> list[Column]:
    place = cursor.here()
    if cursor.accept("*") or _at_from(cursor):
        return [Column("*", None, place)]
    names = read_columns(cursor, "a column")
    if any(cursor.is_sign(sign) for sign in "(+-*/%"):
        raise cursor.error(
            "a query selects columns, not expressions",
            expected="column names or `*`",
            hint="the score itself is always reported, as the column `score`",
        )
    return names


def _at_from(cursor: Cursor, ahead: int = 0) -> bool:
    """Whether the word FROM here opens the clause. Columns may have that name; then a later FROM has the window."""
    later = range(ahead + 1, len(cursor.tokens) - cursor.at)
    if _has_window(cursor, ahead):
        return True
    return cursor.is_word("FROM", ahead=ahead) and not any(_has_window(cursor, at) for at in later)


def _has_window(cursor: Cursor, ahead: int) -> bool:
    return cursor.is_word("FROM", ahead=ahead) and cursor.is_name(ahead + 1) and cursor.is_sign("[", ahead + 2)


def _source(cursor: Cursor) -> tuple[str, Span]:
    cursor.expect("FROM", where="after the selected columns")
    place = cursor.here()
    if any(cursor.is_word(word) for word in _WINDOWED) and cursor.is_sign("(", ahead=1):
        raise cursor.error(
            f"found {cursor.found()} in place of the stream's name",
            expected="the stream, and its window in square brackets",
            hint="TUMBLE is [RANGE 10 MINUTES], HOP is [RANGE 10 MINUTES SLIDE 1 MINUTE]",
        )
    return cursor.name("the stream's name"), place


def _clause(cursor: Cursor, draft: _Draft) -> None:
    start = cursor.at
    for words in _CLAUSES:
        if cursor.accept(*words):
            if words[0] in draft.seen:
                cursor.at = start
                raise cursor.error(f"{' '.join(words)} stands twice in this query", expected="each clause once")
            draft.seen.append(words[0])
            _READERS[words[0]](cursor, draft)
            return
    raise _unknown_clause(cursor)


def _unknown_clause(cursor: Cursor) -> SkybandError:
    token = cursor.peek()
    word = token.text.upper() if token else ""
    return cursor.error(
        f"found {cursor.found()} where a clause should be",
        expected=_CLAUSE_LIST,
        hint=_FOREIGN.get(word) or did_you_mean(word, _WORDS),
    )


def _join(cursor: Cursor, draft: _Draft) -> None:
    draft.join = read_join(cursor)


def _where(cursor: Cursor, draft: _Draft) -> None:
    draft.where = _expression(cursor, cursor.skip_to(_CLAUSES), "WHERE")


def _order(cursor: Cursor, draft: _Draft) -> None:
    draft.by = _expression(cursor, _directed(cursor, draft), "ORDER BY")


def _error(cursor: Cursor, draft: _Draft) -> None:
    """WITH ERROR mag_err; the direction may stand behind it as well as behind the score."""
    draft.error = _expression(cursor, _directed(cursor, draft), "WITH ERROR")


def _directed(cursor: Cursor, draft: _Draft) -> Sequence[Token]:
    """The tokens of an expression, without a direction at its end."""
    tokens = cursor.skip_to(_CLAUSES)
    direction = tokens[-1].text.upper() if len(tokens) > 1 and tokens[-1].token_type is TokenType.VAR else ""
    # `price * desc` ends in a column of that name, `price desc` in a direction.
    if direction in ("ASC", "DESC") and ends_operand(tokens[-2]):
        tokens, draft.ascending, draft.directed = tokens[:-1], direction == "ASC", True
    return tokens


def _count(cursor: Cursor, draft: _Draft) -> None:
    """LIMIT 10, or FETCH FIRST 10 ROWS ONLY."""
    fetch, start = cursor.is_word("FIRST", ahead=-1) or cursor.is_word("NEXT", ahead=-1), cursor.at
    number = "1" if fetch and (cursor.is_word("ROW") or cursor.is_word("ROWS")) else cursor.number("k")
    span = cursor.since(start)
    if fetch and not (cursor.accept("ROWS") or cursor.accept("ROW")):
        raise cursor.error(f"found {cursor.found()} after FETCH FIRST k", expected="`ROWS ONLY`")
    if fetch:
        cursor.expect("ONLY", where="after FETCH FIRST k ROWS")
    if draft.limit is not None:
        raise SkybandError(
            f"both {draft.limit[0]} and {'FETCH' if fetch else 'LIMIT'} were given", expected="one of them", span=span
        )
    draft.limit = "TOP", number, span


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
    "JOIN": _join, "WHERE": _where, "OBJECT": _object, "ORDER": _order, "WITH": _error, "FREQUENCY": _frequency,
    "USING": _using, "EXACT": _exact, "APPROXIMATE": _approximate, "EMIT": _changes, "LIMIT": _count, "FETCH": _count,
}  # fmt: skip


def _expression(cursor: Cursor, tokens: Sequence[Token], clause: str) -> tuple[str, Span]:
    if not tokens:
        raise cursor.error(f"found {cursor.found()} after {clause}", expected="an expression")
    _check_stray_words(cursor, tokens, clause)
    span = cursor.span(tokens)
    return span.source[span.start : span.end], span


def _check_stray_words(cursor: Cursor, tokens: Sequence[Token], clause: str) -> None:
    """A word right after an operand is no expression: most likely a misspelled or foreign clause."""
    depth = 0
    for before, token in pairwise(tokens):
        depth += (before.token_type is TokenType.L_PAREN) - (before.token_type is TokenType.R_PAREN)
        word = token.text.upper()
        if depth == 0 and token.token_type is TokenType.COMMA and clause == "ORDER BY":
            raise _at(
                cursor, token, "a query ranks by one expression", "one expression", "ties: newer first, then by key"
            )
        known = word in OPERATOR_WORDS or word in ("ASC", "DESC")
        stray = token.token_type is TokenType.VAR and not known and ends_operand(before)
        if depth or not stray:
            continue
        hint = _FOREIGN.get(word) or did_you_mean(word, (*_WORDS, "DESC", "ASC"))
        if hint:
            raise _at(cursor, token, f"found `{token.text}` where a clause should be", _CLAUSE_LIST, hint)


def _at(cursor: Cursor, token: Token, message: str, expected: str, hint: str) -> SkybandError:
    return SkybandError(message, expected=expected, hint=hint, span=cursor.span([token]))


# ---------------------------------------------------------------------------------------------------------- the query


def _lookup(source: tuple[str, Span], streams: Mapping[str, Declared]) -> Declared:
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
    if draft.where is not None:
        check_filter(draft.where[0], declared.schema, stream, place.source, draft.where[1].start)
    if draft.error is not None:
        check_number(draft.error[0], declared.schema, stream, place.source, draft.error[1].start)
    frame = window(draft.frame, draft.frequency)
    word, number, span = limit
    try:
        limited = partial(Above, name, _level(number)) if word == "ABOVE" else partial(TopK, name, _whole(number, span))
        query: Query = limited(
            by,
            frame,
            where=draft.where[0] if draft.where else None,
            per=[column.of(declared) for column in draft.per],
            select=[column.of(declared) for column in draft.select],
            ascending=draft.ascending,
            changes=draft.changes,
            stream=stream,
            using=draft.using,
            across=draft.objects.across(declared, by) if draft.objects else None,
            approximate=draft.approximate or False,
            error=draft.error[0] if draft.error else None,
            join=draft.join,
        )
        check_semantics(query, declared.stream)
    except SkybandError as error:
        raise located(error, span) from None
    if draft.objects is not None:
        draft.objects.check(query)
    return query


def _whole(number: str, span: Span) -> int:
    if not number.lstrip("-").isdigit():
        raise SkybandError(f"k must be a whole number from 1 on, not {number}", span=span)
    return int(number)


def _ranking(draft: _Draft, limit: Limit, declared: Declared) -> str:
    if draft.objects is not None and draft.by is None:
        raise SkybandError(
            "the query does not say how the attributes of an object make its score",
            expected="ORDER BY SUM(expression), MAX(...), MIN(...) or PRODUCT(...)",
            span=draft.objects.span,
        )
    if draft.by is not None:
        text, span = draft.by
        if draft.objects is not None:
            word, value, begin = object_score(text, span)
            check_number(value, declared.schema, declared.stream.name, span.source, begin)
            return f"{word}({value})"
        check = check_number if limit[0] == "ABOVE" or draft.error is not None else check_score
        check(text, declared.schema, declared.stream.name, span.source, span.start)
        check_varies(text, declared.stream.time, span.source, span.start)
        return text
    if declared.score is not None:
        return declared.score
    raise SkybandError(
        "the query does not say what to rank by",
        expected="ORDER BY expression",
        hint=f"or give the stream a default: CREATE STREAM {declared.stream.name} WITH (..., SCORE = expression)",
        span=limit[2],
    )
