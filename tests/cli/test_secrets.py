"""A secret that is told is found nowhere: not in a message, a plan, a metric, a note, a checkpoint or a row."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband as sb
from skyband import redaction
from skyband.cli import context
from skyband.cli.main import main
from skyband.redaction import redacted
from skyband.runtime.locations import read_location

PLANTED = "pl4nted-Sesame/7"
QUOTED = "pl4nted-Sesame%2F7"
JAAS = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="{PLANTED}";'
QUERIES = """CREATE STREAM s (ts TIMESTAMP, x DOUBLE) WITH (TIME = ts);
CREATE QUERY best AS SELECT TOP 1 x FROM s [RANGE 1 MINUTE] ORDER BY x;
"""


def command(*words: str, **environment: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "skyband", *words],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[object, str]:
    """The same in this process, which knows of no secret yet."""
    monkeypatch.setattr(redaction, "_known", set[str]())
    monkeypatch.setattr(context, "debug", False)
    monkeypatch.setattr(sys, "argv", ["skyband", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    return ended.value.code, out + err


def is_shown(text: str) -> bool:
    return any(each in text for each in (PLANTED, QUOTED, "Sesame"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "q.sql").write_text(QUERIES)
    times = pa.array(range(0, 240_000_000, 10_000_000), pa.timestamp("us", "UTC"))
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"ts": times, "x": [float(n % 7) for n in range(24)]}), tmp_path / "in" / "a.parquet")
    (tmp_path / "word").write_text(PLANTED + "\n")
    return tmp_path


@pytest.mark.parametrize("debug", [(), ("--debug",)], ids=["plain", "debug"])
@pytest.mark.parametrize(
    ("code", "where"),
    [
        (3, ("--source", f"s=kafka://127.0.0.1:9/t?kafka.sasl.jaas.config={JAAS}", "--sink", "noop")),
        (3, ("--source", "s=kafka://127.0.0.1:9/t?kafka.sasl.jaas.config=env:THE_LOGIN", "--sink", "noop")),
        (2, ("--source", f"s=kavka://me:{PLANTED}@127.0.0.1:9/t", "--sink", "noop")),
        (3, ("--source", "s=in", "--sink", f"postgresql://me:{QUOTED}@127.0.0.1:9/db?table=t")),
        (3, ("--source", "s=in", "--sink", f"postgresql://me@127.0.0.1:9/db?table=t&password={QUOTED}")),
        (3, ("--source", "s=in", "--sink", "postgresql://me@127.0.0.1:9/db?table=t&password=file:word")),
        (2, ("--source", "s=in", "--sink", f"postgresql://me:{QUOTED}@127.0.0.1:9/db")),
        (2, ("--source", f"s=in?fs.s3a.secret.key={PLANTED}&format=nothing", "--sink", "noop", "--reports", "noop")),
    ],
    ids=["jaas", "environment", "no-scheme", "login", "password", "file", "no-table", "s3"],
)
def test_what_is_refused_does_not_show_it(
    folder: Path,
    code: int,
    where: tuple[str, ...],
    debug: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("THE_LOGIN", JAAS)
    words = [word.replace("s=in", f"s={folder}/in").replace("file:word", f"file:{folder}/word") for word in where]
    ended, said = told(capsys, monkeypatch, *debug, "run", str(folder / "q.sql"), *words)
    assert ended == code, said
    assert "should not have happened" not in said
    assert said
    assert not is_shown(said), said


def test_a_variable_that_is_not_set_is_refused() -> None:
    with pytest.raises(sb.SkybandError, match="option password is to be told by NOWHERE"):
        read_location("postgresql://me@host/db?password=env:NOWHERE", ("postgresql",))
    with pytest.raises(sb.SkybandError, match="the file /nowhere: No such file"):
        read_location("postgresql://me@host/db?password=file:/nowhere", ("postgresql",))


def test_options_are_what_environment_and_files_say(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_LOGIN", JAAS)
    found = read_location(f"kafka://h:1/t?kafka.sasl.jaas.config=env:THE_LOGIN&password=file:{folder}/word", ("kafka",))
    assert found.options == {"kafka.sasl.jaas.config": JAAS, "password": PLANTED}
    assert not is_shown(repr(found))
    assert not is_shown(redacted(f"a login with {PLANTED}, or {QUOTED}"))
    # A path is no secret.
    assert read_location("data?schema=file:/x", ()).options == {"schema": "file:/x"}


@pytest.mark.spark
@pytest.mark.slow
def test_a_stream_with_a_secret_leaves_no_trace_of_it(folder: Path) -> None:
    words = [
        "run",
        str(folder / "q.sql"),
        "--source",
        f"s={folder}/in?my.secret.key=env:THE_WORD&api.key=file:{folder}/word",
    ]
    words += ["--sink", f"{folder}/out?my.password={PLANTED}", "--stream", "--once", "--checkpoint", f"{folder}/ck"]
    code, said = command("--debug", *words, "--master", "local[2]", "--reports", f"{folder}/lines", THE_WORD=PLANTED)
    assert code == 0, said
    assert not is_shown(said)
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "word"]
    assert any("out" in path.parts and path.suffix == ".parquet" for path in files)
    assert [path for path in files if b"Sesame" in path.read_bytes()] == []
