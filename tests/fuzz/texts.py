"""Reads texts that somebody might type, or send, in a process of its own: each is answered or refused, at once.

    python -m tests.fuzz.texts WHERE SEED COUNT

As `snapshots.py`: the text is in the file WHERE before it is read, and a line of JSON says how many ended how.
"""

from __future__ import annotations

import json
import random
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

import skyband as sb
from tests.monitor.stored import STORED

CORPUS = Path(__file__).parent / "corpus" / "texts"
SECONDS, MEGABYTES = 1.0, 200
PATIENCE = 20
"""Seconds of CPU after which the process is ended, whatever it does."""
CLAUSES = (
    "SELECT TOP ABOVE PER FROM WHERE ORDER BY FREQUENCY EMIT CHANGES CREATE STREAM QUERY TABLE AS WITH TIME KEY "
    "LATENESS RANGE ROWS SLIDE OFFSET CUMULATE UNBOUNDED AT MOST TIES GROUP HAVING REST DECAY HALF LIFE JOIN USING"
)
INSIDE = (
    "AND OR NOT IN LIKE BETWEEN IS NULL CASE WHEN THEN ELSE END CAST floor( ceil( abs( coalesce( ( ) [ ] , ; * + - / % "
    "div = < > <= . ' \" ` -- /* */ s a b ts color 1 0 2.5 1e308 'x' é APPROXIMATE DAYS SECONDS MICROSECOND DESC ASC"
)
WORDS = [*CLAUSES.split(), *INSIDE.split()]
LARGE = "2147483648 9223372036854775807 1e309 99999999999999999999"
NUMBERS = ["0", "1", "-1", "7", "1000000", "0.0000001", *LARGE.split()]
WRAPS = (
    "({} BETWEEN {} AND 9)",
    "CASE {} WHEN 1 THEN {} ELSE 2 END",
    "(CASE WHEN {} > 1 THEN a ELSE {} END)",
    "floor({})",
    "ceil({} + 1)",
    "({} div 3)",
    "(({}) BETWEEN 1 AND 2 AND b > 1)",
    "NOT ({})",
    "-({})",
    "coalesce({}, {})",
    "round({}, 2)",
)


def any_text(rng: random.Random) -> str:
    """One that works, with a few things done to it."""
    text = rng.choice(BASES)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        text = rng.choice(CHANGES)(text, rng)
    return text


def _pieces(text: str) -> list[str]:
    return text.replace("(", " ( ").replace(")", " ) ").replace(",", " , ").replace(";", " ; ").split()


def _token(text: str, rng: random.Random) -> str:
    """A word left out, said twice, put elsewhere or replaced."""
    words = _pieces(text) or [""]
    place, other = rng.randrange(len(words)), rng.randrange(len(words))
    kind = rng.randrange(5)
    if kind == 0:
        del words[place]
    elif kind == 1:
        words.insert(place, words[other])
    elif kind == 2:
        words[place], words[other] = words[other], words[place]
    else:
        words[place] = rng.choice(WORDS if kind == 3 else NUMBERS)
    return " ".join(words)


def _number(text: str, rng: random.Random) -> str:
    words = _pieces(text)
    places = [place for place, word in enumerate(words) if word.replace(".", "").isdigit()]
    if places:
        words[rng.choice(places)] = rng.choice(NUMBERS)
    return " ".join(words)


def _nested(text: str, rng: random.Random) -> str:
    """What is ranked by, in something, in something."""
    head, by, tail = text.partition("ORDER BY ")
    wrap, inner = rng.choice(WRAPS), "a"
    for _ in range(rng.choice((1, 2, 5, 9, 13, 17, 40, 150))):
        inner = wrap.replace("{}", inner, 1).replace("{}", "b")
        wrap = rng.choice(WRAPS) if rng.random() < 0.3 else wrap
    return f"{head}{by}{inner} {tail}" if rng.random() < 0.7 else f"{head} WHERE {inner} > 1 {by}{tail}"


def _long(text: str, rng: random.Random) -> str:
    many = rng.choices((3, 100, 1_000, 10_000), (60, 30, 9, 1))[0]  # What takes long is seldom worth more than a look.
    long = rng.choice(("a + ", "a = 1 OR ", "(", "NOT ", "- ", "a, ", "'x' , ", "((a) + "))
    return text.replace("ORDER BY ", f"ORDER BY {long * many}", 1)


def _characters(text: str, rng: random.Random) -> str:
    place = rng.randrange(len(text) + 1)
    return (
        text[:place]
        + "".join(chr(rng.choice((rng.randrange(128), rng.randrange(0xD800)))) for _ in range(3))
        + text[place:]
    )


def _soup(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text) + 1)] + " ".join(rng.choices(WORDS, k=rng.randrange(40)))


CHANGES = (_token, _token, _number, _number, _nested, _nested, _long, _characters, _soup)
BASES = [stored.text for stored in STORED] + [path.read_text() for path in sorted(CORPUS.glob("*.sql"))]


def answered(text: str) -> str:
    """Read, plan, explain, print and read again: how it ended."""
    try:
        workload = sb.Workload.from_sql(text)
        workload.explain()
        again = sb.Workload.from_sql(str(workload))
    except sb.SkybandError as error:
        return "refused" if str(error) else "refused without a word"
    return "answered" if str(again) == str(workload) else "reads back as another"


def ended(text: str, idle: int) -> str:
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    begin = time.process_time()
    try:
        found = answered(text)
    except BaseException:
        return "".join(traceback.format_exc().splitlines(keepends=True)[-5:])
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if time.process_time() - begin > SECONDS:
        return f"took {time.process_time() - begin:.1f} s"
    return found if peak() - idle <= MEGABYTES else f"took {peak() - idle} MB"


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main(where: Path, seed: int, count: int) -> None:
    rng, counts, wrong = random.Random(seed), Counter[str](), list[tuple[str, str]]()
    for text in BASES:
        answered(text)
    idle = peak()
    with where.open("w+") as file:
        for _ in range(count):
            text = any_text(rng)
            file.seek(0)
            file.write(text)
            file.truncate()
            file.flush()
            found = ended(text, idle)
            good = found in ("answered", "refused")
            counts[found if good else "wrong"] += 1
            if not good:
                wrong.append((text, found))
                idle = peak()
    sys.stdout.write(json.dumps({"counts": counts, "wrong": wrong}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
