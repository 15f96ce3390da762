"""Packages that were had once are had again, with nobody to ask."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from skyband.spark.io import resolved

START = """
import sys
from skyband.spark.session import session
ivy, settings = sys.argv[1:]
chosen = {"spark.jars.ivy": ivy, "spark.jars.ivySettings": settings}
spark = session(False, ["org.example:thing:1.0"], "local[1]", settings=chosen)
loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
print(loader.getResource("thing.txt"))
"""
SETTINGS = """<ivysettings><settings defaultResolver="here"/><resolvers>
  <ibiblio name="here" m2compatible="true" root="{root}"/>
</resolvers></ivysettings>"""


def start(*words: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", START, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.spark
def test_the_second_start_asks_no_maven(tmp_path: Path) -> None:
    """A Maven of our own, which is gone by then, and so is what Ivy knows of it."""
    home = tmp_path / "maven" / "org" / "example" / "thing" / "1.0"
    home.mkdir(parents=True)
    with ZipFile(home / "thing-1.0.jar", "w") as jar:
        jar.writestr("thing.txt", "")
    settings = tmp_path / "ivysettings.xml"
    settings.write_text(SETTINGS.format(root=(tmp_path / "maven").as_uri()))
    for _ in range(2):
        done = start(tmp_path / "ivy", settings)
        assert "thing-1.0.jar!/thing.txt" in done.stdout, done.stderr
        shutil.rmtree(tmp_path / "maven", ignore_errors=True)
        shutil.rmtree(tmp_path / "ivy" / "cache", ignore_errors=True)


def wanted(folder: Path, package: str = "org.example:thing:1.0", **more: str) -> dict[str, str]:
    return {"spark.jars.ivy": str(folder), "spark.jars.packages": package, "spark.app.name": "a"} | more


def test_jars_take_the_place_of_packages_while_they_are_what_they_were(tmp_path: Path) -> None:
    one, other = tmp_path / "a jar.jar", tmp_path / "b.jar"
    one.write_text("one")
    other.write_text("other")
    asked = wanted(tmp_path)
    assert resolved.known(asked) == asked
    resolved.note(asked, f"{one.as_uri()},{other}")
    found = asked | {"spark.jars": f"{one.as_uri()},{other}", "spark.jars.packages": ""}
    assert resolved.known(asked) == found
    assert resolved.known(asked | {"spark.app.name": "b"}) == found | {"spark.app.name": "b"}
    one.write_text("one, cut or changed")
    assert resolved.known(asked) == asked
    resolved.note(asked, f"{one.as_uri()},{other}")
    assert resolved.known(asked) == found
    other.unlink()
    assert resolved.known(asked) == asked


def test_all_that_ivy_goes_by_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (jar := tmp_path / "a.jar").write_text("")
    resolved.note(wanted(tmp_path), str(jar))
    others = [wanted(tmp_path, "org.example:thing:1.1"), wanted(tmp_path, **{"spark.jars.excludes": "x:y"})]
    assert [resolved.known(each) for each in others] == others
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert resolved.known(wanted(tmp_path))["spark.jars"] == str(jar)
    (tmp_path / "spark-defaults.conf").write_text("spark.jars.repositories file:///elsewhere\n")
    assert resolved.known(wanted(tmp_path)) == wanted(tmp_path)
    monkeypatch.undo()
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--jars mine.jar pyspark-shell")
    assert resolved.known(wanted(tmp_path)) == wanted(tmp_path)


@pytest.mark.parametrize(
    "package", ["g:a:1.0-SNAPSHOT", "g:a:latest.release", "g:a:1.+", "g:a:[1.0,2.0)", "g:b:1.0,g:a:[1,)", ""]
)
def test_what_may_be_another_tomorrow_is_asked_for_again(tmp_path: Path, package: str) -> None:
    (jar := tmp_path / "a.jar").write_text("")
    resolved.note(wanted(tmp_path, package), str(jar))
    assert resolved.known(wanted(tmp_path, package)) == wanted(tmp_path, package)


@pytest.mark.parametrize("jar", ["https://example.org/a.jar", "hdfs://host/a.jar", None])
def test_jars_that_are_not_on_this_disk_are_left_to_spark(tmp_path: Path, jar: str | None) -> None:
    resolved.note(wanted(tmp_path), jar)
    assert resolved.known(wanted(tmp_path)) == wanted(tmp_path)
