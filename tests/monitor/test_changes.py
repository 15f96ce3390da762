"""Changes mode: the log, folded, is the list of every report; nothing is sent twice."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, strategies as st

import skyband as sb
from tests import support
from tests.drawn import examples

STREAM = sb.Stream("s", time="ts", key="id")
LISTS: st.SearchStrategy[dict[str, Any]] = st.sampled_from([{}, {"ties": True}, {"at_most": (1, "bonus")}])


@examples(150)
@given(tables=support.tables(), data=st.data())
def test_the_folded_log_is_the_list(tables: list[pa.Table], data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["microseconds", "rows"]))
    width = data.draw(st.integers(1, 10))
    slide = data.draw(st.integers(1, width))
    grows = kind != "rows" and data.draw(st.booleans())
    width = -(-width // slide) * slide if grows else width
    asked: dict[str, Any] = {"window": f"{width} {kind}", "cumulate" if grows else "slide": f"{slide} {kind}"}
    asked |= {"per": data.draw(st.sampled_from([(), "color"])), **data.draw(LISTS)}
    if kind != "rows" and data.draw(st.integers(0, 3)) == 0:
        asked = {"window": "unbounded", "slide": f"{slide} {kind}", "per": asked["per"]}
    k = data.draw(st.integers(1, 4))
    full = sb.TopK("full", k, "score", **asked)
    log = sb.TopK("log", k, "score", **asked, changes=True)
    monitor = sb.Monitor(sb.Workload([full, log], stream=STREAM))
    pushed = [monitor.push(table) for table in tables]
    rows = pa.concat_tables([*pushed, monitor.close()]).to_pylist()
    end = "row_end" if kind == "rows" else "window_end"
    assert _folded(rows, end, empties=not full.window.unbounded) == _lists(rows, end)


def test_the_words_of_the_log() -> None:
    log = sb.TopK("log", 2, "score", "2 rows", 1, changes=True)
    monitor = sb.Monitor(sb.Workload([log], stream=STREAM))
    scores = [5.0, 9.0, 1.0]
    rows = monitor.push(support.table_of([(at, at, score, 0, "red") for at, score in enumerate(scores)]))
    last = monitor.close()
    said = [(row["row_end"], row["change"], row["rank"], row["id"]) for row in rows.to_pylist() + last.to_pylist()]
    assert said == [
        (1, "enter", 1, 0),
        (2, "enter", 1, 1),
        (2, "move", 2, 0),
        (3, "leave", None, 0),
        (3, "enter", 2, 2),
        (4, "leave", None, 1),
        (4, "move", 1, 2),
        (5, "leave", None, 2),
    ]


Key = tuple[str, object]


def _lists(rows: list[dict[str, object]], end: str) -> dict[Key, list[object]]:
    """The full lists, by (group, report)."""
    found: dict[Key, list[object]] = {}
    for row in rows:
        if row["query"] == "full":
            found.setdefault((str(row["group_key"]), row[end]), []).append(row["id"])
    return found


def _folded(rows: list[dict[str, object]], end: str, empties: bool) -> dict[Key, list[object]]:
    """The log taken report by report, as the docs say; reports that changed nothing are filled in from the others.
    With `empties` every list ends empty."""
    reports = sorted({row[end] for row in rows}, key=lambda moment: (moment is None, moment))
    found: dict[Key, list[object]] = {}
    lists: dict[str, dict[object, object]] = {}
    for report in reports:
        for row in rows:
            if row["query"] != "log" or row[end] != report:
                continue
            members = lists.setdefault(str(row["group_key"]), {})
            if row["change"] == "leave":
                del members[row["id"]]
            else:
                assert (row["id"] in members) == (row["change"] == "move")
                assert members.get(row["id"]) != row["rank"]
                members[row["id"]] = row["rank"]
        for group, members in lists.items():
            if members:
                found[group, report] = sorted(members, key=lambda id: members[id])  # type: ignore[arg-type,return-value]
    assert not empties or not any(lists.values())
    full = {(str(row["group_key"]), row[end]) for row in rows if row["query"] == "full"}
    return {place: ids for place, ids in found.items() if place in full or not full}
