"""Queries against their streams: what has no meaning together is refused before anything runs."""

from __future__ import annotations

from skyband.errors import SkybandError
from skyband.model.approximate_groups import check_approximate
from skyband.model.query import Above, Query, TopK
from skyband.model.stream import Stream

_NOT_OF_GROUPS = {
    "OBJECT": "each makes one row of many records: GROUP BY adds up what is of one stream",
    "USING": "sums over possible worlds are distributions",
    "PROBABILITY": "sums over possible worlds are distributions",
    "WITH ERROR": "sums of scores with an error are distributions",
    "OP": "not yet: a deleted record would have to be taken out of every sum that it is in",
    "WITH TIES": "not yet: the k best groups are taken from an order of all, and no more",
    "AT MOST": "it looks at columns of a record, which a group has many of; TOP k PER column is a list for each value",
    "DECAY": "what is kept of a group are exact sums, which do not fade; a shorter window forgets sooner",
    "a second key in ORDER BY": "the order of all groups is kept by one number; within known bounds one expression may "
    "say both: 1000000 * SUM(a) + SUM(b)",
}
"""Why."""


def check_semantics(query: Query, stream: Stream) -> None:
    """Refuse what has no meaning over possible worlds, and possible worlds where there are none; likewise objects."""
    _check_special(query, stream)
    if query.window.unbounded and query.grouping is None:
        _check_unbounded(query)
    if query.grouping is not None:
        _check_groups(query, stream)
    elif query.across is not None:
        _check_objects(query, stream)
    elif query.approximate is not None:
        raise SkybandError(
            f"query {query.name} asks for an approximate answer of records",
            expected="APPROXIMATE only with GROUP BY or OBJECT ... ACROSS ...",
            hint="records are ranked exactly at no extra cost: leave it out",
        )
    if query.then is not None:
        _check_then(query, stream)
    if query.error is not None:
        _check_error(query)
    elif stream.probability is None:
        if query.using is not None:
            raise SkybandError(
                f"query {query.name} asks for {query.using}, but stream {stream.name} is not uncertain",
                expected="USING only over a stream with a PROBABILITY",
                hint=f"CREATE STREAM {stream.name} WITH (..., PROBABILITY = column) makes it uncertain",
            )
    elif isinstance(query, Above):
        raise SkybandError(
            f"query {query.name} asks for ABOVE, but stream {stream.name} is uncertain",
            expected="TOP k over a stream with a PROBABILITY",
            hint="TOP k ... USING PT_K(p) reports every record that is likely enough to be among the k best",
        )
    elif query.using is not None and query.using.name == "PK_STREAMS" and stream.source is None:
        raise SkybandError(
            f"query {query.name} asks for PK_STREAMS, but stream {stream.name} has no sources",
            expected="a SOURCE",
            hint=f"CREATE STREAM {stream.name} WITH (..., SOURCE = column)",
        )
    elif query.changes and query.using is not None and query.using.name == "U_KRANKS":
        raise SkybandError(
            f"query {query.name} asks for changes of U_KRANKS, which may report one record at several ranks",
            expected="U_KRANKS without EMIT CHANGES",
        )


def _check_groups(query: Query, stream: Stream) -> None:
    """Groups are summed up exactly, over streams that are certain and never take back."""
    assert query.grouping is not None
    clauses = {
        "OBJECT": query.across,
        "WITH ERROR": query.error,
        "USING": query.using,
    }
    asked = [word for word, said in clauses.items() if said is not None]
    asked += [word for word in query.specials if word not in ("CUMULATE", "UNBOUNDED")]
    for word in (*asked, *(["a second key in ORDER BY"] if query.then else [])):
        raise SkybandError(
            f"query {query.name} has both GROUP BY and {word}",
            expected=f"GROUP BY without {word}",
            hint=_NOT_OF_GROUPS[word],
        )
    if query.approximate is not None:
        check_approximate(query, stream)
    for word, column in (("OP", stream.op), ("PROBABILITY", stream.probability)):
        if column is not None:
            raise SkybandError(
                f"query {query.name} ranks groups, and stream {stream.name} has {word} = {column}",
                expected=f"GROUP BY over a stream without {word}",
                hint=f"{_NOT_OF_GROUPS[word]}; declare the stream once more under another name, without {word}",
            )
    if query.changes and query.grouping.rest:
        raise SkybandError(
            f"query {query.name} asks for changes of the list, and for the rest",
            expected="one of EMIT CHANGES and WITH REST",
        )


def _check_special(query: Query, stream: Stream) -> None:
    """Some lists and windows are of records with sure scores only."""
    given = {"OBJECT ... ACROSS ...": query.across, "WITH ERROR": query.error, "PROBABILITY": stream.probability}
    unsure = next((word for word, value in given.items() if value is not None), None)
    for special in query.specials:
        if unsure is not None:
            raise SkybandError(
                f"query {query.name} asks for {special} of scores that are no record's own ({unsure})",
                expected=f"{special} without {unsure}",
            )


def _check_unbounded(query: Query) -> None:
    """Of all that ever came k records can be kept, and not whatever is above a threshold or ties with the k-th."""
    endless, uncapped = (
        "nothing bounds their number",
        "not yet, the table of the best of all time looks at scores alone",
    )
    listed = {"ABOVE": endless if isinstance(query, Above) else None}
    if isinstance(query, TopK):
        listed |= {"WITH TIES": endless if query.ties else None, "AT MOST": uncapped if query.at_most else None}
    for what, why in listed.items():
        if why is not None:
            raise SkybandError(
                f"query {query.name} asks for {what} of records in an UNBOUNDED window: {why}",
                expected="TOP k, or a window of some length",
                hint="[RANGE 1 DAY SLIDE 1 MINUTE] keeps what a day brings",
            )


def _check_objects(query: Query, stream: Stream) -> None:
    """Objects whose attributes arrive apart are ranked over streams that are certain and never take back."""
    if isinstance(query, Above) and query.approximate is not None:
        raise SkybandError(
            f"query {query.name} asks for ABOVE, and for an approximate answer",
            expected="TOP k with APPROXIMATE, or ABOVE without it",
            hint="what is forgotten is what will hardly be among the k best, and ABOVE has no k",
        )
    if query.across is not None and query.across.named and query.approximate is not None:
        raise SkybandError(
            f"query {query.name} ranks objects by an expression over attributes, and asks for an approximate answer",
            expected="ORDER BY SUM(...), MAX(...), MIN(...) or PRODUCT(...) with APPROXIMATE, or an exact answer",
            hint="how much of a score is still to come is estimated for these four only",
        )
    if query.approximate is not None and query.approximate.groups is not None:
        raise SkybandError(
            f"query {query.name} ranks objects, and is to keep {query.approximate.groups} groups",
            expected=f"KEEPING {query.approximate.groups} OBJECTS",
        )
    for word, column in (("OP", stream.op), ("PROBABILITY", stream.probability)):
        if column is not None:
            raise SkybandError(
                f"query {query.name} ranks objects, and stream {stream.name} has {word} = {column}",
                expected=f"OBJECT ... ACROSS ... over a stream without {word}",
                hint=f"declare the stream once more under another name, without {word}",
            )


def _check_error(query: Query) -> None:
    """Scores with an error are ranked by top-k probabilities, and by nothing else."""
    if query.across is not None:
        raise SkybandError(
            f"query {query.name} ranks objects by scores with an error (WITH ERROR {query.error})",
            expected="OBJECT ... ACROSS ... without WITH ERROR",
        )
    asked = query.limit if isinstance(query, Above) else str(query.using)
    if isinstance(query, Above) or (query.using is not None and query.using.name not in ("PK_TOPK", "PT_K")):
        raise SkybandError(
            f"query {query.name} asks for {asked} of scores with an error (WITH ERROR {query.error})",
            expected="TOP k, with USING PK_TOPK or PT_K(p)",
            hint="skyband.datasets.spread makes points of such scores, which every semantics takes",
        )


def _check_then(query: Query, stream: Stream) -> None:
    """A second key belongs to a record whose score is sure, and which is never taken back."""
    what = None
    if query.across is not None:
        what = "it ranks objects, which have the values of several records"
    elif query.error is not None or stream.probability is not None:
        what = "in possible worlds equal scores are ranked by time and key alone"
    elif isinstance(query, TopK) and (query.ties or query.half_life is not None):
        what = "WITH TIES and DECAY look at the score alone"
    elif stream.op is not None:
        what = f"stream {stream.name} has deletes (OP = {stream.op}), and their index ranks by one number"
    if what is not None:
        raise SkybandError(
            f"query {query.name} has a second key, {query.then}, and {what}",
            expected="ORDER BY one expression",
            hint="where both are numbers within known bounds, one expression may say it: 1000 * a + b",
        )
