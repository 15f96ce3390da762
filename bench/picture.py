"""`python -m bench.picture RESULT.json ... OUT.svg`: the curves in these results as one picture.

Rows that have curves: `scores-curve-*` (many scores), of sharing plans `uncertain-plans`, `-load` and `-live`, and
`incomplete-approximate` (precision against objects kept).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log10
from pathlib import Path
from typing import Any

WIDTH, HEIGHT, LEFT, TOP, STEP = 200, 150, 46, 34, 262
BLUE, LIGHT_BLUE, RED, LIGHT_RED, GREY = "#1b6ca8", "#7fb3d5", "#b03a2e", "#e6a49b", "#777777"
SCORES = {"sma, IND": BLUE, "tma, IND": LIGHT_BLUE, "sma, ANT": RED, "tma, ANT": LIGHT_RED}
KEPT = {"approximate": BLUE, "without age": LIGHT_RED, "eaa": GREY}
PLANS = {"DP": BLUE, "GA": LIGHT_BLUE, "INCO": LIGHT_RED, "IN": RED, "NS": GREY}
Points = list[tuple[float, float]]


@dataclass(frozen=True)
class Panel:
    """Lines by name over one pair of axes; `log_x` for what grows by factors."""

    title: str
    lines: dict[str, Points]
    colours: dict[str, str]
    log_x: bool = False
    ticks: tuple[float, ...] = ()
    """What to write below the horizontal axis; all values if nothing is said."""


def main(words: Sequence[str]) -> int:
    *sources, target = words
    rows = [row for source in sources for row in json.loads(Path(source).read_text())["rows"]]
    Path(target).write_text(picture([panel for row in rows for panel in panels(row)]))
    return 0


def panels(row: dict[str, Any]) -> list[Panel]:
    """What of a row can be drawn."""
    if row["row"].startswith("scores-curve-"):
        what = row["settings"]["varies"]
        named = [(f"{line['contestant']}, {line['points']}", line[what], line["ms"]) for line in row["lines"]]
        return [Panel(f"ms per time stamp against {what}", _by_name(named), SCORES, log_x=True)]
    if row["row"] == "uncertain-plans":
        uniform = [line for line in row["lines"] if line["contestant"].startswith("uu")]
        named = [
            (plan, _queries(line), line[f"NS/{plan}"]) for line in uniform for plan in PLANS if f"NS/{plan}" in line
        ]
        return [Panel("cost without sharing over the plan's", _by_name(named), PLANS)]
    if row["row"] in ("uncertain-load", "uncertain-live"):
        shown = {"executions/s": "executions a second", "late, units a query": "lateness of a query, units"}
        return [
            Panel(title, _by_name([_load(line, what) for line in row["lines"]]), PLANS) for what, title in shown.items()
        ]
    if row["row"] == "incomplete-approximate":
        return [_precision(row["lines"], streams) for streams in (3, 4, 6)]
    return []


def _precision(lines: list[dict[str, Any]], streams: int) -> Panel:
    mine = [line for line in lines if line["contestant"].startswith(f"{streams} streams")]
    named = [(line["contestant"].split(", ")[1], line["precision"], line["objects kept"]) for line in mine]
    (everyone,) = (kept for name, _, kept in named if name == "eaa")
    shown = [(name, p, kept) for name, p, kept in sorted(named, key=lambda each: each[1]) if p >= 0.5]
    shown.append(("eaa", 0.5, everyone))
    shown.sort(key=lambda each: each[1])
    title = f"objects by precision, {streams} streams"
    return Panel(title, _by_name(shown), KEPT, ticks=(0.5, 0.6, 0.7, 0.8, 0.9, 1.0))


def picture(drawn: Sequence[Panel]) -> str:
    """The panels side by side; the vertical axis is logarithmic."""
    width = STEP * len(drawn) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="250"',
        ' font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="250" fill="white"/>',
    ]
    for number, panel in enumerate(drawn):
        parts += _panel(panel, LEFT + number * STEP)
    names = {name: panel.colours[name] for panel in drawn for name in panel.lines}
    for number, (name, colour) in enumerate(names.items()):
        x = LEFT + number * 110
        parts.append(f'<line x1="{x}" x2="{x + 22}" y1="236" y2="236" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{x + 27}" y="240">{name}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(panel: Panel, left: int) -> list[str]:
    points = [point for line in panel.lines.values() for point in line]
    values = sorted({x for x, _ in points})
    high = [y for _, y in points if y > 0]
    most, least = 10 ** (int(log10(max(high)) // 1) + 1), 10 ** int(log10(min(high)) // 1)
    across = _scale(values[0], values[-1], left, left + WIDTH, panel.log_x)
    down = _scale(least, most, TOP + HEIGHT, TOP, True)
    parts = [f'<text x="{left}" y="20" font-weight="bold">{panel.title}</text>']
    parts.append(f'<rect x="{left}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/>')
    tick = float(least)
    while tick <= most:
        y = down(tick)
        parts.append(f'<text x="{left - 6}" y="{y + 4:.0f}" text-anchor="end">{_short(tick)}</text>')
        parts.append(f'<line x1="{left}" x2="{left + WIDTH}" y1="{y:.0f}" y2="{y:.0f}" stroke="#ddd"/>')
        tick *= 10
    below = f'y="{TOP + HEIGHT + 15}" text-anchor="middle"'
    parts += [f'<text x="{across(value):.0f}" {below}>{_short(value)}</text>' for value in panel.ticks or values]
    for name, line in panel.lines.items():
        way = " ".join(f"{across(x):.1f},{down(max(y, least)):.1f}" for x, y in line)
        parts.append(f'<polyline points="{way}" fill="none" stroke="{panel.colours[name]}" stroke-width="2"/>')
    return parts


def _scale(low: float, high: float, begin: float, end: float, logarithmic: bool) -> Callable[[float], float]:
    def place(value: float) -> float:
        if logarithmic:
            return begin + (end - begin) * (log10(value) - log10(low)) / (log10(high) - log10(low))
        return begin + (end - begin) * (value - low) / (high - low)

    return place


def _by_name(named: Sequence[tuple[str, float, float]]) -> dict[str, Points]:
    lines: dict[str, Points] = {}
    for name, x, y in named:
        lines.setdefault(name, []).append((x, y))
    return lines


def _queries(line: dict[str, Any]) -> int:
    """Of `uu, 20 queries`."""
    return int(line["contestant"].split(", ")[1].split()[0])


def _load(line: dict[str, Any], what: str) -> tuple[str, float, float]:
    return line["contestant"].split(", ")[0], _queries(line), line[what]


def _short(value: float) -> str:
    if value >= 1_000_000:
        return f"{value / 1_000_000:g}M"
    return f"{value / 1_000:g}K" if value >= 1_000 else f"{value:g}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
