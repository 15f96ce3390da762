"""Frozen nouns: streams, queries, windows, and the arrays that engines see."""

from skyband.model.across import Across, Feed
from skyband.model.apart import Approximate, Assembly, AttributeValues
from skyband.model.arrays import NEVER, Answers, DueReports, Flags, Floats, Ints, Keys, Records
from skyband.model.at_most import AtMost
from skyband.model.meta import MetaQuery
from skyband.model.query import Above, Query, TopK
from skyband.model.score_type import DOUBLE, ScoreType
from skyband.model.stream import Stream
from skyband.model.table import Join, LookedUp, Table
from skyband.model.then import Then
from skyband.model.time_bounds import Ahead, AnyTime, Between, TimeBounds
from skyband.model.unbounded import UnboundedMeta
from skyband.model.using import Using
from skyband.model.window import CumulatingWindow, Kind, UnboundedWindow, Window

__all__ = [
    "DOUBLE",
    "NEVER",
    "Above",
    "Across",
    "Ahead",
    "Answers",
    "AnyTime",
    "Approximate",
    "Assembly",
    "AtMost",
    "AttributeValues",
    "Between",
    "CumulatingWindow",
    "DueReports",
    "Feed",
    "Flags",
    "Floats",
    "Ints",
    "Join",
    "Keys",
    "Kind",
    "LookedUp",
    "MetaQuery",
    "Query",
    "Records",
    "ScoreType",
    "Stream",
    "Table",
    "Then",
    "TimeBounds",
    "TopK",
    "UnboundedMeta",
    "UnboundedWindow",
    "Using",
    "Window",
]
