"""What is stored and read again, pinned: the identity of a family, and a Monitor's state, in every data model.

`golden/identities.json` and `golden/*.state` were written by the commit that last changed either. If a test here fails,
states that users have stored are orphaned or cannot be read: that is a change to be meant, told in the changelog, and
refused with a clear message where an old state is met. Then keep some of the old states in a folder of their version,
and write the files anew, with

    SKYBAND_GOLDEN=write .venv/bin/python -m pytest tests/monitor/test_stored.py
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

import skyband as sb
from skyband.runtime.fates import FATES
from tests.monitor.stored import CUT, STORED, Stored, pushes

GOLDEN = Path(__file__).parent / "golden"
IDENTITIES = GOLDEN / "identities.json"
each = pytest.mark.parametrize("stored", STORED, ids=lambda stored: stored.name)
writing = os.environ.get("SKYBAND_GOLDEN") == "write"


def identities(stored: Stored) -> list[str]:
    return [planned.family.fingerprint for planned in stored.workload.plan(stored.engine).families]


def test_the_identity_of_every_family_is_the_golden_one() -> None:
    """A family that is called otherwise does not find what was stored of it."""
    found = {stored.name: identities(stored) for stored in STORED}
    if writing:
        IDENTITIES.write_text(json.dumps(found, indent=2) + "\n")
    assert found == json.loads(IDENTITIES.read_text())


def test_no_two_families_have_one_identity() -> None:
    assert len({one for stored in STORED for one in identities(stored)}) == sum(len(identities(s)) for s in STORED)


@each
def test_a_stored_state_is_read_and_goes_on(stored: Stored) -> None:
    """Row for row as the Monitor that was never stored."""
    workload, tables = stored.workload, pushes()
    undisturbed = sb.Monitor(workload, stored.engine)
    for table in tables[:CUT]:
        undisturbed.push(table)
    file = GOLDEN / f"{stored.name}.state"
    if writing:
        file.write_bytes(undisturbed.snapshot())
    monitor = sb.Monitor.restore(workload, file.read_bytes(), stored.engine)
    rows = 0
    for table in tables[CUT:]:
        expected = undisturbed.push(table)
        assert monitor.push(table) == expected
        rows += len(expected)
    last = undisturbed.close()
    assert monitor.close() == last
    assert rows > 0
    assert len(last) > 0
    assert _known(monitor) == _known(undisturbed)


@each
def test_a_stored_state_holds_records_that_are_still_reported(stored: Stored) -> None:
    """Otherwise a state that lost its records would pass."""
    tables = pushes()
    from_nothing = sb.Monitor(stored.workload, stored.engine)
    undisturbed = sb.Monitor(stored.workload, stored.engine)
    for table in tables[:CUT]:
        undisturbed.push(table)
    told = pa.concat_tables([from_nothing.push(table) for table in tables[CUT:]])
    assert told != pa.concat_tables([undisturbed.push(table) for table in tables[CUT:]])


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("before-reports/*.state")), ids=lambda file: file.stem)
def test_a_state_from_before_reports_were_counted_is_read(file: Path) -> None:
    """It says how many reports had rows; from there on every report counts."""
    (stored,) = (each for each in STORED if each.name == file.stem)
    undisturbed, tables = sb.Monitor(stored.workload), pushes()
    for table in tables[:CUT]:
        undisturbed.push(table)
    monitor = sb.Monitor.restore(stored.workload, file.read_bytes())
    before = reported(monitor), reported(undisturbed)
    for table in tables[CUT:]:
        assert monitor.push(table) == undisturbed.push(table)
        assert monitor.reports == undisturbed.reports
    assert monitor.close() == undisturbed.close()
    assert monitor.reports == undisturbed.reports
    after = reported(monitor), reported(undisturbed)
    assert after[0] - before[0] == after[1] - before[1]
    assert min((after[0] - before[0]).values()) > 0


def reported(monitor: sb.Monitor) -> Counter[str]:
    return Counter({name: counts["reports"] for name, counts in monitor.counters["queries"].items()})


@pytest.mark.parametrize(
    "file", sorted(GOLDEN.glob("version-*/*.state")), ids=lambda file: f"{file.parent.name}-{file.stem}"
)
def test_a_state_of_an_older_version_is_refused_and_not_misread(file: Path) -> None:
    (stored,) = (each for each in STORED if each.name == file.stem)
    with pytest.raises(sb.SkybandError, match=f"a snapshot of {file.parent.name.replace('-', ' ')}") as caught:
        sb.Monitor.restore(stored.workload, file.read_bytes(), stored.engine)
    assert "the skyband release that wrote it" in str(caught.value)


def test_a_state_that_was_damaged_is_refused() -> None:
    stored = STORED[0]
    state = bytearray((GOLDEN / f"{stored.name}.state").read_bytes())
    state[len(state) // 2] ^= 1
    with pytest.raises(sb.SkybandError, match="damaged"):
        sb.Monitor.restore(stored.workload, bytes(state), stored.engine)


def test_a_snapshot_with_any_bit_flipped_is_refused() -> None:
    best = sb.TopK("best", k=1, by="score", window="2 rows", slide=1)
    workload = sb.Workload([best], stream=sb.Stream("s", time="ts"))
    monitor = sb.Monitor(workload)
    monitor.push(pa.table({"ts": pa.array([1, 2, 3], pa.timestamp("s")), "score": [5.0, 9.0, 7.0]}))
    state = monitor.snapshot()
    for place in range(0, len(state), 7):
        damaged = bytearray(state)
        damaged[place] ^= 1 << place % 8
        with pytest.raises(sb.SkybandError):
            sb.Monitor.restore(workload, bytes(damaged))


def _known(monitor: sb.Monitor) -> dict[str, tuple[int, int, int]]:
    """What every state says of the queries: reports, rows, and how many records there were. Those of the first releases
    do not say of all what became of them."""
    told = monitor.counters["queries"]
    return {
        name: (counts["reports"], counts["rows"], sum(counts[what] for what in FATES)) for name, counts in told.items()
    }
