"""Nodes back to text: the normal form in which two spellings of one expression are equal."""

from __future__ import annotations

import re
from datetime import timedelta

from skyband.language.expressions.expression import EPOCH
from skyband.language.expressions.nodes import ALIASES, Call, Literal, Name, Node
from skyband.language.expressions.types import Type

_LEVELS = (("or",), ("and",), ("not",), ("=", "!=", "<", "<=", ">", ">=", "<=>", "in", "like"), ("+", "-"))
_LEVEL = {name: level for level, names in enumerate(_LEVELS) for name in names}
_LEVEL |= dict.fromkeys(("*", "/", "%", "div"), 5) | {"negative": 6}
_HIGHEST = 7
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Words that expressions are made of: as columns they need quotes.
_SQL = (
    "and as between case distinct div else end escape false from if in interval is like not null or over rlike select "
    "then true when with"
)
RESERVED = frozenset(_SQL.split())


def canonical_text(node: Node) -> str:
    """`node` with single spaces, no needless parentheses, small function names and no stream name."""
    if isinstance(node, Name):
        return column_text(node.name)
    return _literal(node) if isinstance(node, Literal) else _call(node)


def column_text(name: str) -> str:
    bare = _PLAIN.fullmatch(name) and name.lower() not in RESERVED
    return name if bare else '"' + name.replace('"', '""') + '"'


def _literal(node: Literal) -> str:
    value = node.value
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
    if node.type is Type.DATE and isinstance(value, int):
        return f"DATE '{(EPOCH + timedelta(days=value)).date().isoformat()}'"
    if node.type is Type.TIMESTAMP and isinstance(value, int):
        return f"TIMESTAMP '{(EPOCH + timedelta(microseconds=value)).replace(tzinfo=None).isoformat(' ')}'"
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    return repr(value)


def _call(node: Call) -> str:
    name = ALIASES.get(node.function, node.function)
    match name:
        case "in":
            return f"{_part(node.args[0], 4)} IN ({', '.join(map(canonical_text, node.args[1:]))})"
        case "not":
            return f"NOT {_part(node.args[0], _LEVEL[name])}"
        case "negative":
            return f"-{_part(node.args[0], _HIGHEST)}"
        case "double" | "bigint":
            return (
                f"CAST({canonical_text(node.args[0])} AS {name.upper()})" if len(node.args) == 1 else _plain(name, node)
            )
        case "case":
            return _case(node)
    if name in _LEVEL and len(node.args) == 2:
        level = _LEVEL[name]
        left, right = _part(node.args[0], level + (level == 3)), _part(node.args[1], level + 1)
        return f"{left} {name.upper()} {right}"
    return _plain(name, node)


def _plain(name: str, node: Call) -> str:
    return f"{name}({', '.join(map(canonical_text, node.args))})"


def _case(node: Call) -> str:
    *pairs, rest = map(canonical_text, node.args)
    whens = " ".join(f"WHEN {pairs[i]} THEN {pairs[i + 1]}" for i in range(0, len(pairs), 2))
    return f"CASE {whens} ELSE {rest} END"


def _part(node: Node, level: int) -> str:
    """An operand; in parentheses where it binds less tightly than `level`."""
    text = canonical_text(node)
    negative = isinstance(node, Literal) and text.startswith("-")
    own = 6 if negative else _own_level(node)
    return text if own >= level else f"({text})"


def _own_level(node: Node) -> int:
    if not isinstance(node, Call):
        return _HIGHEST
    return _LEVEL.get(ALIASES.get(node.function, node.function), _HIGHEST)
