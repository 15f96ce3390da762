"""`python -m bench.picture RESULT.json ... OUT.svg`: the curves of the rows `scores-curve-*` as one picture."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from math import log10
from pathlib import Path
from typing import Any

WIDTH, HEIGHT, LEFT, TOP, STEP = 200, 150, 46, 34, 262
COLOURS = {("IND", "sma"): "#1b6ca8", ("IND", "tma"): "#7fb3d5", ("ANT", "sma"): "#b03a2e", ("ANT", "tma"): "#e6a49b"}


def main(words: Sequence[str]) -> int:
    *sources, target = words
    rows = [row for source in sources for row in json.loads(Path(source).read_text())["rows"]]
    curves = [row for row in rows if row["row"].startswith("scores-curve-")]
    Path(target).write_text(picture(curves))
    return 0


def picture(curves: Sequence[dict[str, Any]]) -> str:
    """One panel per row: milliseconds per time stamp, both axes logarithmic."""
    width = STEP * len(curves) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="250"',
        ' font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="250" fill="white"/>',
    ]
    for number, row in enumerate(curves):
        parts += _panel(row, LEFT + number * STEP)
    for number, ((kind, name), colour) in enumerate(COLOURS.items()):
        x = LEFT + number * 110
        parts.append(f'<line x1="{x}" x2="{x + 22}" y1="236" y2="236" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{x + 27}" y="240">{name}, {kind}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(row: dict[str, Any], left: int) -> list[str]:
    what, lines = row["settings"]["varies"], row["lines"]
    values = sorted({line[what] for line in lines})
    most = 10 ** (int(log10(max(line["ms"] for line in lines)) + 1))
    least = 10 ** int(log10(min(line["ms"] for line in lines)) // 1)

    def across(value: float) -> float:
        return left + WIDTH * (log10(value) - log10(values[0])) / (log10(values[-1]) - log10(values[0]))

    def down(ms: float) -> float:
        return TOP + HEIGHT * (log10(most) - log10(ms)) / (log10(most) - log10(least))

    parts = [f'<text x="{left}" y="20" font-weight="bold">ms per time stamp against {what}</text>']
    parts.append(f'<rect x="{left}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/>')
    tick = float(least)
    while tick <= most:
        parts.append(f'<text x="{left - 6}" y="{down(tick) + 4:.0f}" text-anchor="end">{tick:g}</text>')
        parts.append(
            f'<line x1="{left}" x2="{left + WIDTH}" y1="{down(tick):.0f}" y2="{down(tick):.0f}" stroke="#ddd"/>'
        )
        tick *= 10
    below = f'y="{TOP + HEIGHT + 15}" text-anchor="middle"'
    parts += [f'<text x="{across(value):.0f}" {below}>{_short(value)}</text>' for value in values]
    for (kind, name), colour in COLOURS.items():
        mine = [line for line in lines if line["points"] == kind and line["contestant"] == name]
        way = " ".join(f"{across(line[what]):.1f},{down(line['ms']):.1f}" for line in mine)
        parts.append(f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="2"/>')
    return parts


def _short(value: int) -> str:
    if value >= 1_000_000:
        return f"{value // 1_000_000}M"
    return f"{value // 1_000}K" if value >= 1_000 else str(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
