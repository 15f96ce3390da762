"""What a user asks of a stream. Python and text are two spellings of these objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from datetime import timedelta
from sys import float_info
from typing import Self

from skyband.errors import SkybandError
from skyband.model.across import Across, combination_word, combined, ranked_by
from skyband.model.apart import Approximate, Assembly, Combination
from skyband.model.at_most import AtMost, at_most as make_at_most
from skyband.model.duration import duration_text, microseconds
from skyband.model.frozen import set_fields
from skyband.model.grouping import Aggregate, Grouping, grouped
from skyband.model.names import quoted, tuple_of
from skyband.model.parameters import refuse_unknown
from skyband.model.select import Item, Select, selected
from skyband.model.table import Join
from skyband.model.then import Then, then as make_then
from skyband.model.using import Using, using as make_using
from skyband.model.window import LONGEST, Length, Window, window as make_window


def _is_number(value: object, *kinds: type) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


@contextmanager
def said_of(query: str) -> Iterator[None]:
    """What is refused in it is said of the query."""
    try:
        yield
    except SkybandError as wrong:
        wrong.message = f"query {query}: {wrong.message}"
        raise


def check_half_life(name: str, length: int) -> int:
    """So many microseconds, after which a score counts half. Ranks are doubles: with shorter ones their digits would go
    to the time, and none be left to the score."""
    if not 1_000_000 <= length <= LONGEST:
        raise SkybandError(
            f"query {name}: a half life of {duration_text(length)} is out of range",
            expected="from 1 second on, below 36,000 years",
        )
    return length


@dataclass(frozen=True, init=False)
class Query:
    """What TopK and Above have in common. `by` and `where` are expressions over the stream's columns; so is `error`,
    the standard error of a score that is uncertain itself. `then` ranks records with equal scores: 'size ASC'."""

    name: str
    by: str
    window: Window
    where: str | None
    per: tuple[str, ...]
    select: tuple[str | Item, ...]
    ascending: bool
    changes: bool
    stream: str | None
    using: Using | None
    across: Across | None
    approximate: Approximate | None
    error: str | None
    join: Join | None
    then: Then | None
    group_by: tuple[str, ...]
    having: str | None
    rest: bool
    aggregates: tuple[Aggregate, ...] | None = field(init=False, compare=False)
    """Of groups: all that it takes, once its texts are in their normal form."""
    combination: Combination | None = field(init=False, compare=False)
    """Of objects that an expression ranks: that, compiled."""

    def __init__(
        self,
        name: str,
        by: str,
        window: str | timedelta | Window,
        slide: Length | None,
        *,
        where: str | None,
        per: str | Sequence[str],
        select: Select,
        ascending: bool,
        changes: bool,
        stream: str | None,
        offset: Length | None,
        frequency: Length | None,
        cumulate: Length | None,
        using: str | Using | None,
        across: Across | None,
        approximate: bool | Approximate,
        error: str | None,
        join: Join | None,
        then: str | Then | None,
        group_by: str | Sequence[str],
        having: str | None,
        rest: bool,
    ) -> None:
        with said_of(name):
            second = make_then(then)
            columns = tuple_of(group_by)
            shown = grouped(select, columns, having, rest) if columns or having or rest else selected(select)
            frame = make_window(window, slide, offset, frequency, cumulate)
            semantics = make_using(using)
            if across is not None:
                by = ranked_by(across, by)
        rough = approximate if isinstance(approximate, Approximate) else Approximate() if approximate else None
        set_fields(self, name=name, by=by.strip(), window=frame, where=where.strip() if where else None)
        set_fields(self, per=tuple_of(per), select=shown, ascending=ascending, changes=changes, stream=stream)
        set_fields(self, using=semantics, across=across, approximate=rough, error=error.strip() if error else None)
        set_fields(self, then=second, group_by=columns, having=having.strip() if having else None, rest=rest)
        set_fields(self, join=join, aggregates=None, combination=None)

    def over(self, stream: str) -> Self:
        """The same query over the stream of that name."""
        same = copy(self)
        set_fields(same, stream=stream)
        return same

    @property
    def plain(self) -> tuple[str, ...]:
        """The columns of the stream that it shows under their own names, `*` if all."""
        return tuple(each for each in self.select if not isinstance(each, Item))

    @property
    def items(self) -> tuple[Item, ...]:
        """What else it shows."""
        return tuple(each for each in self.select if isinstance(each, Item))

    @property
    def grouping(self) -> Grouping | None:
        """GROUP BY and what belongs to it: what is ranked are groups of records."""
        if not self.group_by:
            return None
        shown = tuple(Item(each, each) if isinstance(each, str) else each for each in self.select)
        return Grouping(self.group_by, shown, self.having, self.rest, self.aggregates)

    @property
    def value(self) -> str:
        """What is computed of each record: the score itself, or what stands in the parentheses of SUM(...)."""
        if self.across is None:
            return self.by
        return self.across.collected if self.across.named else combined(self.by)[1]

    @property
    def assembly(self) -> Assembly | None:
        """Of objects: how their scores are made."""
        if self.across is None:
            return None
        return self.across.assembly(combination_word(self.across, self.by), self.combination)

    @property
    def computed(self) -> bool:
        """The score is no record's own: it is made of an object's values or a group's records, or has an error."""
        return self.across is not None or self.error is not None or bool(self.group_by)

    @property
    def specials(self) -> tuple[str, ...]:
        """Words that ask for lists and windows of records with sure scores only."""
        return () if self.window.special is None else (self.window.special,)

    @property
    def categories(self) -> tuple[str, ...]:
        """The columns by whose values a list is capped."""
        return ()

    @property
    def condition(self) -> str | None:
        """What a record has to be to qualify: where a table is joined there has to be a row of it."""
        if self.join is None:
            return self.where
        return quoted(self.join.flag) + (f" AND ({self.where})" if self.where else "")

    @property
    def limit(self) -> str:
        """TOP k or ABOVE x."""
        raise NotImplementedError

    def _weighed(self) -> list[str]:
        """How scores change with time, as a clause."""
        return []

    def __str__(self) -> str:
        per = f" PER {', '.join(map(quoted, self.per))}" if self.per else ""
        columns = ", ".join(
            str(each) if isinstance(each, Item) or each == "*" else quoted(each) for each in self.select
        )
        lines = [
            f"CREATE QUERY {quoted(self.name)} AS",
            f"  SELECT {self.limit}{per} {columns}",
            f"  FROM {quoted(self.stream or 'stream')} {self.window}",
        ]
        if self.join is not None:
            lines.append(f"  {self.join}")
        if self.where:
            lines.append(f"  WHERE {self.where}")
        if self.across is not None:
            lines.append(f"  {self.across}")
        if self.grouping is not None:
            lines += [f"  {clause}" for clause in self.grouping.clauses]
        then = f", {self.then}" if self.then else ""
        lines.append(f"  ORDER BY {self.by} {'ASC' if self.ascending else 'DESC'}{then}")
        lines += self._weighed()
        if self.rest:
            lines.append("  WITH REST")
        if self.error is not None:
            lines.append(f"  WITH ERROR {self.error}")
        if self.window.at_least_every:
            lines.append(f"  FREQUENCY {self.window.length_text(self.window.slide)}")
        if self.using is not None:
            lines.append(f"  USING {self.using}")
        if self.approximate is not None:
            lines.append(f"  {self.approximate}")
        if self.changes:
            lines.append("  EMIT CHANGES")
        return "\n".join(lines) + ";"


@dataclass(frozen=True, init=False)
class TopK(Query):
    """The k records with the highest score (the lowest, when `ascending`) of every window; with `ties` also all others
    whose score equals the k-th. A score counts half as much after each `half_life`. With `at_most`, (2, 'symbol'), a
    record is skipped if so many above it have the same values of these columns."""

    k: int
    ties: bool
    half_life: int | None
    at_most: AtMost | None

    @refuse_unknown
    def __init__(
        self,
        name: str,
        k: int,
        by: str,
        window: str | timedelta | Window,
        slide: Length | None = None,
        *,
        where: str | None = None,
        per: str | Sequence[str] = (),
        select: Select = "*",
        ascending: bool = False,
        changes: bool = False,
        stream: str | None = None,
        offset: Length | None = None,
        frequency: Length | None = None,
        cumulate: Length | None = None,
        using: str | Using | None = None,
        across: Across | None = None,
        approximate: bool | Approximate = False,
        error: str | None = None,
        join: Join | None = None,
        then: str | Then | None = None,
        group_by: str | Sequence[str] = (),
        having: str | None = None,
        rest: bool = False,
        ties: bool = False,
        half_life: str | timedelta | None = None,
        at_most: tuple[int, str | Sequence[str]] | AtMost | None = None,
    ) -> None:
        if not _is_number(k, int) or not 1 <= k < 2**31:
            raise SkybandError(f"query {name}: k must be a whole number from 1 on, not {k!r}")
        decay = None if half_life is None else check_half_life(name, microseconds(half_life, "half_life"))
        with said_of(name):
            capped = make_at_most(at_most)
        set_fields(self, k=k, ties=ties, half_life=decay, at_most=capped)
        super().__init__(
            name,
            by,
            window,
            slide,
            where=where,
            per=per,
            select=select,
            ascending=ascending,
            changes=changes,
            stream=stream,
            offset=offset,
            frequency=frequency,
            cumulate=cumulate,
            using=using,
            across=across,
            approximate=approximate,
            error=error,
            join=join,
            then=then,
            group_by=group_by,
            having=having,
            rest=rest,
        )
        if decay is not None and self.window.kind == "rows":
            raise SkybandError(
                f"query {name}: scores decay with time, and the window counts rows",
                expected="DECAY with a RANGE window",
            )
        if ties and capped is not None:
            raise SkybandError(
                f"query {name} asks for {capped}, and WITH TIES for whatever has the score of the last",
                expected="one of AT MOST and WITH TIES",
            )

    @property
    def computed(self) -> bool:
        return super().computed or self.half_life is not None

    @property
    def specials(self) -> tuple[str, ...]:
        words = {
            "WITH TIES": self.ties,
            "DECAY": self.half_life is not None,
            "AT MOST": self.at_most is not None,
        }
        return *(word for word, said in words.items() if said), *super().specials

    @property
    def categories(self) -> tuple[str, ...]:
        return () if self.at_most is None else self.at_most.per

    def _weighed(self) -> list[str]:
        return [] if self.half_life is None else [f"  DECAY HALF LIFE {duration_text(self.half_life)}"]

    @property
    def limit(self) -> str:
        capped = "" if self.at_most is None else f" {self.at_most}"
        return f"TOP {self.k}{' WITH TIES' if self.ties else ''}{capped}"


@dataclass(frozen=True, init=False)
class Above(Query):
    """Every record of a window with a score above `threshold`; `ascending` only turns the ranking round."""

    threshold: float

    @refuse_unknown
    def __init__(
        self,
        name: str,
        threshold: float,
        by: str,
        window: str | timedelta | Window,
        slide: Length | None = None,
        *,
        where: str | None = None,
        per: str | Sequence[str] = (),
        select: Select = "*",
        ascending: bool = False,
        changes: bool = False,
        stream: str | None = None,
        offset: Length | None = None,
        frequency: Length | None = None,
        cumulate: Length | None = None,
        using: str | Using | None = None,
        across: Across | None = None,
        approximate: bool | Approximate = False,
        error: str | None = None,
        join: Join | None = None,
        then: str | Then | None = None,
        group_by: str | Sequence[str] = (),
        having: str | None = None,
        rest: bool = False,
    ) -> None:
        if not _is_number(threshold, int, float) or not abs(threshold) <= float_info.max:
            raise SkybandError(f"query {name}: the threshold must be a finite number, not {threshold!r}")
        # A whole number stays one: beyond 2⁵³ a double would be another.
        set_fields(self, threshold=threshold if isinstance(threshold, int) else float(threshold))
        super().__init__(
            name,
            by,
            window,
            slide,
            where=where,
            per=per,
            select=select,
            ascending=ascending,
            changes=changes,
            stream=stream,
            offset=offset,
            frequency=frequency,
            cumulate=cumulate,
            using=using,
            across=across,
            approximate=approximate,
            error=error,
            join=join,
            then=then,
            group_by=group_by,
            having=having,
            rest=rest,
        )

    @property
    def limit(self) -> str:
        value = self.threshold
        whole = isinstance(value, int) or (value.is_integer() and abs(value) < 2**53)
        return f"ABOVE {int(value) if whole else repr(value)}"
