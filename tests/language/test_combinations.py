"""What docs/language.md says does not go together is what is refused, neither more nor less."""

from __future__ import annotations

import ast
from pathlib import Path
from traceback import extract_tb

import pytest

import skyband as sb
from skyband.model import approximate_groups, checks
from tests.language.combinations import first_of_all, refused

ROOT = Path(__file__).parents[2]
SECTION = (ROOT / "docs" / "language.md").read_text().split("## What does not go together\n")[1].split("\n## ")[0]
HEAD = "CREATE STREAM s WITH (TIME = ts); CREATE STREAM u WITH (TIME = ts, PROBABILITY = p);"
GROUPS = "FROM s [RANGE 1 HOUR] GROUP BY client ORDER BY"
ALONE = {
    "`GROUP BY hour(ts)`": "TOP 5 FROM s [RANGE 1 HOUR] GROUP BY hour(ts) ORDER BY COUNT(*)",
    "`ORDER BY client` of groups": f"TOP 5 client {GROUPS} client",
    "`HAVING price > 1`": "TOP 5 client FROM s [RANGE 1 HOUR] GROUP BY client HAVING price > 1 ORDER BY COUNT(*)",
    "`SUM(DISTINCT x)`": f"TOP 5 client {GROUPS} SUM(DISTINCT x)",
    "`AVG(DISTINCT x)`": f"TOP 5 client {GROUPS} AVG(DISTINCT x)",
    "`SUM(x) FILTER (WHERE ...)`": f"TOP 5 client {GROUPS} SUM(x) FILTER (WHERE x > 1)",
    "`APPROXIMATE` of records": "TOP 5 FROM s [RANGE 1 HOUR] ORDER BY x APPROXIMATE",
    "`APPROXIMATE WITH PRECISION p`": f"TOP 5 client {GROUPS} COUNT(*) APPROXIMATE WITH PRECISION 0.9",
    "`KEEPING n OBJECTS` of groups": f"TOP 5 client {GROUPS} COUNT(*) APPROXIMATE KEEPING 50 OBJECTS",
    "`KEEPING n GROUPS` of objects": (
        "TOP 5 FROM s [RANGE 1 HOUR] OBJECT a ACROSS b (SUM) ORDER BY SUM(x) APPROXIMATE KEEPING 50 GROUPS"
    ),
    "`COUNT(DISTINCT x)` with `KEEPING n GROUPS`": f"TOP 5 {GROUPS} COUNT(DISTINCT x) APPROXIMATE KEEPING 50 GROUPS",
    "`ORDER BY COUNT(DISTINCT x) / COUNT(*)`": f"TOP 5 {GROUPS} COUNT(DISTINCT x) / COUNT(*) APPROXIMATE",
    "`ORDER BY AVG(x)`": f"TOP 5 {GROUPS} AVG(x) APPROXIMATE",
    "any other aggregate beside": f"TOP 5 SUM(x) {GROUPS} COUNT(*) APPROXIMATE",
    "`ORDER BY COUNT(*) ASC`": f"TOP 5 {GROUPS} COUNT(*) ASC APPROXIMATE",
    "a list longer than what is kept": f"TOP 50 {GROUPS} COUNT(*) APPROXIMATE KEEPING 10 GROUPS",
    "`USING` over a stream without `PROBABILITY`": "TOP 5 FROM s [RANGE 1 HOUR] ORDER BY x USING U_TOPK",
    "`USING PK_STREAMS` over a stream without `SOURCE`": "TOP 5 FROM u [RANGE 1 HOUR] ORDER BY x USING PK_STREAMS",
    "`U_TOPK`": "TOP 5 FROM s [RANGE 1 HOUR] ORDER BY x WITH ERROR e USING U_TOPK",
    "`ORDER BY 1`": "TOP 5 FROM s [RANGE 1 HOUR] ORDER BY 1",
    "`ORDER BY a, b, c`": "TOP 5 FROM s [RANGE 1 HOUR] ORDER BY a, b, c",
    "`LEFT JOIN`": "TOP 5 FROM s [RANGE 1 HOUR] LEFT JOIN t USING (a) ORDER BY a",
    "a second `JOIN`": "TOP 5 FROM s [RANGE 1 HOUR] JOIN t USING (a) JOIN v USING (a) ORDER BY a",
    "`SUM(x)`": "TOP 5 FROM s [RANGE 1 HOUR] WHERE SUM(x) > 1 ORDER BY a",
    "`COUNT(*)` in `WHERE`, or without `GROUP BY`": "TOP 5 FROM s [RANGE 1 HOUR] ORDER BY COUNT(*)",
    "a subquery": "TOP 5 FROM s [RANGE 1 HOUR] WHERE a IN (SELECT 1) ORDER BY a",
    "`OVER (...)`": "TOP 5 FROM s [RANGE 1 HOUR] ORDER BY rank() OVER (ORDER BY a)",
    "`INTERVAL`": "TOP 5 FROM s [RANGE 1 HOUR] ORDER BY ts - INTERVAL 1 HOUR",
    "`RLIKE`": "TOP 5 FROM s [RANGE 1 HOUR] WHERE a RLIKE 'x' ORDER BY a",
    "`now()`": "TOP 5 FROM s [RANGE 1 HOUR] ORDER BY a - now()",
    "`rand()`": "TOP 5 FROM s [RANGE 1 HOUR] ORDER BY rand()",
}
"""By what the page says of it. Types, and what is pushed, have tests of their own."""


def _features(cell: str) -> list[str]:
    return [feature.replace("`", "").strip() for feature in cell.split(",")]


def test_pairs(tmp_path: Path) -> None:
    rows = [line.split(" | ") for line in SECTION.split("Refused by themselves")[0].splitlines() if line[:2] == "| "]
    told = {frozenset((one, other)) for row in rows[1:] for one in _features(row[0][2:]) for other in _features(row[1])}
    found = first_of_all(refused(tmp_path))
    assert {pair: found[pair].message for pair in found.keys() - told} == {}
    assert told - found.keys() == set()


@pytest.mark.parametrize("what", ALONE)
def test_what_is_refused_by_itself(what: str) -> None:
    assert what in SECTION
    with pytest.raises(sb.SkybandError):
        sb.Workload.from_sql(HEAD + "SELECT " + ALONE[what])


def test_each_refusal_of_the_checks_is_on_the_page(tmp_path: Path) -> None:
    """Those of the model: each place where one is raised is met by an example of the page."""
    errors = list(refused(tmp_path).values())
    for text in ALONE.values():
        with pytest.raises(sb.SkybandError) as caught:
            sb.Workload.from_sql(HEAD + "SELECT " + text)
        errors.append(caught.value)
    met = {(frame.filename, frame.lineno) for error in errors for frame in extract_tb(error.__traceback__)}
    for module in (checks, approximate_groups):
        source = Path(str(module.__file__))
        raised = [node for node in ast.walk(ast.parse(source.read_text())) if isinstance(node, ast.Raise)]
        missed = [node for node in raised if (str(source), node.lineno) not in met]
        assert [ast.unparse(node) for node in missed] == []
