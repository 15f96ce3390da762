"""EXPLAIN as golden files: text in, explanation out. That every one of these workloads also runs as the oracle says is
for test_golden_workloads.

Write the files anew with `SKYBAND_GOLDEN=write make test`, then read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import skyband as sb

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.sql"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_the_explanation_is_the_golden_one(path: Path) -> None:
    text = sb.Workload.from_sql(path.read_text()).explain()
    golden = path.with_suffix(".txt")
    if os.environ.get("SKYBAND_GOLDEN") == "write":
        golden.write_text(text)
    assert text == golden.read_text()


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_workload_read_from_its_own_text_is_the_same(path: Path) -> None:
    workload = sb.Workload.from_sql(path.read_text())
    assert sb.Workload.from_sql(str(workload)) == workload


@pytest.mark.parametrize("engine", sorted(sb.engines()))
def test_a_forced_engine_is_named(engine: str) -> None:
    workload, able = sb.Workload.from_sql(GOLDEN[0].read_text()), sb.engines()[engine]
    if able.data in ("groups", "objects", "uncertain"):
        with pytest.raises(sb.SkybandError, match=f"engine {engine} is for {able.data}"):
            workload.explain(engine)
    elif able.data == "complete" and able.thresholds:
        with pytest.raises(sb.SkybandError, match=f"engine {engine} answers ABOVE"):
            workload.explain(engine)
    else:
        assert f"engine    {engine}: asked for" in workload.explain(engine)


@pytest.mark.parametrize(
    ("query", "instead"),
    [
        ("TOP 2 PER a FROM s [ROWS 9] ORDER BY x", "grouped"),
        ("TOP 2 a FROM s [ROWS 9] OBJECT a ACROSS b (SUM) ORDER BY SUM(x)", "eaa"),
        ("TOP 2 FROM s [ROWS 9] ORDER BY x WITH ERROR b", "pk_normal"),
    ],
)
def test_what_an_engine_for_many_scores_cannot_take_is_said(query: str, instead: str) -> None:
    explained = sb.Workload.from_sql(f"CREATE STREAM s WITH (TIME = ts); SELECT {query};").explain("sma")
    (line,) = (line for line in explained.splitlines() if line.startswith("  engine"))
    assert line.startswith(f"  engine    {instead}: ")
    assert "(sma, which was asked for, takes" in line


def test_an_unknown_engine_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(sb.SkybandError, match="there is no engine called 'mtoplits'") as caught:
        sb.Workload.from_sql(GOLDEN[0].read_text()).explain("mtoplits")
    assert "mtoplist" in str(caught.value)
