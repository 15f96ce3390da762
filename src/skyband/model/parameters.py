"""Constructors that refuse a parameter they do not have, and name the nearest one there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from typing import ParamSpec

from skyband.errors import SkybandError
from skyband.model import names

P = ParamSpec("P")

_REACHED_FOR = {
    "ascending": "order direction sort asc desc descending reverse lowest_first",
    "where": "filter filters condition conditions predicate",
    "per": "partition_by partition each",
    "group_by": "groupby group groups",
    "rest": "with_rest others other",
    "select": "columns fields cols attributes project output show",
    "k": "limit n top count size number",
    "threshold": "above level limit minimum cutoff x",
    "by": "score order_by orderby sort_by rank_by ranking expression value",
    "then": "then_by second second_key tie ties tiebreak tie_break",
    "window": "range width length rows last over",
    "slide": "step hop every interval trigger",
    "changes": "emit emit_changes delta deltas diff mode",
    "using": "semantics",
    "half_life": "decay halving",
    "at_most": "cap capped most max_per limit_per diversity",
    "cumulate": "accumulate so_far",
    "ties": "with_ties",
    "error": "with_error stderr std sigma uncertainty",
    "approximate": "approx precision",
    "stream": "streams source table topic from_ data",
    "time": "ts timestamp event_time time_column time_field",
    "key": "id primary_key key_column",
    "lateness": "late delay watermark allowed_lateness",
    "ahead": "future max_ahead clock_skew skew horizon",
    "op": "operation change_column",
    "columns": "schema fields types",
    "probability": "p prob",
    "object": "objects entity id",
    "collect": "aggregate combine how function",
    "streams": "feeds sources among in_",
    "between": "bounds range low_high limits",
    "times": "at_most occurrences count",
    "weight": "weights w factor",
    "alias": "as_ called label",
    "precision": "p recall accuracy",
    "objects": "keep keeping memory",
    "queries": "query",
}
"""What each parameter is called elsewhere."""


def refuse_unknown(init: Callable[P, None]) -> Callable[P, None]:
    """Python's own refusal names no other word; and a parameter is soon called as in another library."""
    kind = init.__qualname__.split(".")[0]
    known = tuple(signature(init).parameters)[1:]

    @wraps(init)
    def checked(*args: P.args, **given: P.kwargs) -> None:
        unknown = next((word for word in given if word not in known), None)
        if unknown is not None:
            near = nearest(unknown, known)
            raise SkybandError(
                f"{kind} takes no `{unknown}=`",
                expected=f"some of {', '.join(known)}",
                hint=f"did you mean `{near}=`?" if near else None,
            )
        init(*args, **given)

    return checked


def nearest(word: str, known: Sequence[str]) -> str | None:
    """The known parameter that was probably meant: the same thing by another name, or a slip of the pen."""
    asked = word.lower()
    named = (name for name in known if asked in _REACHED_FOR.get(name, "").split())
    return next(named, None) or names.nearest(asked, known)
