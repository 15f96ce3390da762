"""Restores damaged snapshots and goes on from them, in a process of its own: it may crash, and then it is known with
which one.

    python -m tests.fuzz.snapshots WHERE SEED COUNT

Before each, the edit is written into the file WHERE; at the end a line of JSON says how many ended how.
"""

from __future__ import annotations

import json
import random
import resource
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from pathlib import Path

import pyarrow as pa

import skyband as sb
from tests.fuzz.mutations import Edit, any_edit
from tests.monitor.stored import CUT, STORED, Stored, pushes

CORPUS = Path(__file__).parent / "corpus" / "snapshots.jsonl"
GOLDEN = Path(__file__).parents[1] / "monitor" / "golden"
SECONDS = 10
"""Of CPU, after which a process is ended: nothing here takes a tenth of one."""
MEMORY = 8 << 30
"""Of addresses; machine code and Arrow's pools take two."""
BY_NAME = {stored.name: stored for stored in STORED}


@lru_cache
def workload(name: str) -> sb.Workload:
    return BY_NAME[name].workload


@lru_cache
def blob(name: str) -> bytes:
    return (GOLDEN / f"{name}.state").read_bytes()


@lru_cache
def tables() -> list[pa.Table]:
    """What is to come: a push, and all the rest at once."""
    first, *rest = pushes()[CUT:]
    return [first, pa.concat_tables(rest).combine_chunks()]


def goes_on(stored: Stored, state: bytes) -> str:
    """Restore, go on, and once more from a snapshot taken in the middle: how it ended."""
    try:
        monitor = sb.Monitor.restore(workload(stored.name), state, stored.engine)
    except sb.SkybandError:
        return "refused"
    try:
        monitor.push(tables()[0])
        again = sb.Monitor.restore(workload(stored.name), monitor.snapshot(), stored.engine)
        for table in tables()[1:]:
            if not same(monitor.push(table), again.push(table)):
                return "other rows after another snapshot"
        monitor.close()
    except sb.SkybandError:
        return "refused later"
    return "went on"


def same(one: pa.Table, other: pa.Table) -> bool:
    """NaN is NaN here."""
    return bool(one == other) or repr(one.to_pylist()) == repr(other.to_pylist())


def warm() -> None:
    """What is compiled, is compiled now: nobody waits for it later."""
    for stored in STORED:
        assert goes_on(stored, blob(stored.name)) == "went on", stored.name


def ended(edit: Edit) -> str:
    stored = BY_NAME[edit.state]
    damaged = edit.apply(blob(edit.state))
    if damaged == blob(edit.state):
        return "the same"
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        found = goes_on(stored, damaged)
    except BaseException:
        return "".join(traceback.format_exc().splitlines(keepends=True)[-5:])
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return "read, although damaged" if not edit.path and found != "refused" else found


GOOD = frozenset(("the same", "refused", "refused later", "went on"))


def kept() -> list[Edit]:
    """What was found once."""
    return [Edit.loads(line) for line in CORPUS.read_text().splitlines() if line]


def drawn(rng: random.Random, count: int) -> Iterator[Edit]:
    """Half of them with their checksums repaired."""
    for number in range(count):
        name = rng.choice(STORED).name
        yield any_edit(name, blob(name), rng, repaired=number % 2 == 0)


def main(where: Path, seed: int, count: int) -> None:
    warm()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    rng, counts, wrong = random.Random(seed), Counter[str](), list[tuple[str, str]]()
    with where.open("w+") as file:
        for edit in chain(kept(), drawn(rng, count)):
            file.seek(0)
            file.write(edit.dumps() + "\n")
            file.truncate()
            file.flush()
            found = ended(edit)
            counts[found if found in GOOD else "wrong"] += 1
            if found not in GOOD:
                wrong.append((edit.dumps(), found))
    sys.stdout.write(json.dumps({"counts": counts, "wrong": wrong}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
