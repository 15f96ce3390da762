"""Words are tested: the README's code runs, and what exists is in the docs."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import skyband as sb
from skyband.engines.base import registration
from skyband.model.using import names as semantics
from skyband.runtime.results import EXPECTED_RANK, FIXED

ROOT = Path(__file__).parent.parent
CARD = ["Idea", "Guarantee", "Cost", "Source"]
README = (ROOT / "README.md").read_text()


def test_the_readme_s_python_runs_word_by_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """In an empty folder: `pip install` brings the package, and nothing else of the repository."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL):
        exec(compile(block, "README.md", "exec"), names)
    said = capsys.readouterr().out
    assert "family 1 of" in said
    assert "candidates at most" in said
    assert sb.Workload.from_sql(str(names["workload"])) == names["workload"]


def test_the_examples_of_the_semantics_are_right(capsys: pytest.CaptureFixture[str]) -> None:
    """All of them together: later examples use what earlier ones have defined."""
    page = ROOT / "docs" / "semantics.md"
    examples = "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
    test = doctest.DocTestParser().get_doctest(examples, {}, page.name, str(page), 0)
    failed, tried = doctest.DocTestRunner().run(test)
    assert tried > 60
    assert not failed, capsys.readouterr().out


@pytest.mark.parametrize("word", [*semantics(), *FIXED, EXPECTED_RANK])
def test_the_semantics_tell_of_everything(word: str) -> None:
    """Whatever may follow USING, and every column of result rows."""
    assert f"`{word}" in (ROOT / "docs" / "semantics.md").read_text()


def test_the_readme_s_queries_are_those_of_the_example() -> None:
    shown = sb.Workload.from_sql(re.findall(r'from_sql\("""\n(.*?)"""', README, re.DOTALL)[0])
    example = sb.Workload.from_sql((ROOT / "examples" / "trades.sql").read_text())
    assert shown.streams[0].lateness == example.streams[0].lateness
    assert shown.queries[0] in example.queries


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.sql")), ids=lambda path: path.name)
def test_every_example_plans(path: Path) -> None:
    workload = sb.Workload.from_sql(path.read_text())
    assert "engine" in workload.explain()
    assert sb.Workload.from_sql(str(workload)) == workload


@pytest.mark.parametrize("engine", sorted(sb.engines()))
def test_every_engine_has_a_heading(engine: str) -> None:
    assert re.search(rf"^## `?{engine}`?", (ROOT / "docs" / "engines.md").read_text(), re.MULTILINE)
    assert f"`{engine}`" in README


@pytest.mark.parametrize("engine", sorted(sb.engines()))
def test_every_engine_opens_with_a_card(engine: str) -> None:
    card = sys.modules[registration(engine).build.__module__].__doc__ or ""
    assert re.findall(r"^\*\*(Idea|Guarantee|Cost|Source)\.\*\*", card, re.MULTILINE) == CARD
    assert "\n>>> " in card


@pytest.mark.parametrize("target", ["demo", "test", "bench", "check"])
def test_make_explains_its_targets(target: str) -> None:
    assert re.search(rf"^{target}:.*## \w", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_links_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert "://" in target or (page.parent / target).exists(), f"{page.name} links to {target}"


def test_paths_lead_somewhere() -> None:
    """In README, CONTRIBUTING and docs: from the root of the repository, or from a folder of the package."""
    package = ROOT / "src" / "skyband"
    folders = "|".join(["src", "tests", "bench", *(each.name for each in package.iterdir() if each.is_dir())])
    found = [
        (page.name, path)
        for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
        for path in re.findall(rf"`((?:{folders})/[\w./-]*)`", page.read_text())
    ]
    assert len(found) > 100
    assert [each for each in found if not ((ROOT / each[1]).exists() or (package / each[1]).exists())] == []


def test_design_notes_are_numbered_one_after_the_other() -> None:
    """So that a number names one note; each begins with the number of its file."""
    notes = sorted((ROOT / "docs" / "design").glob("*.md"))
    assert [note.name[:5] for note in notes] == [f"{number:04}-" for number in range(1, len(notes) + 1)]
    assert [note.read_text()[:7] for note in notes] == [f"# {note.name[:4]}:" for note in notes]


def test_the_template_of_an_engine_works_in_every_data_model() -> None:
    """The file that CONTRIBUTING tells people to copy: each of its engines gives the rows of the planner's own."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "own_engine.py")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 4
    assert all("rows, the same as" in line for line in lines), done.stdout


def test_an_engine_outside_the_package_meets_the_suite() -> None:
    """As CONTRIBUTING says: the file is loaded as a plugin."""
    suite = ["tests/engines/test_conformance.py", "-k", "window_sort-rising"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "own_engine", *suite, "--collect-only", "-q"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "examples"), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    # Those of the examples that the suite knows by itself meet no rising scores.
    assert "test_state_is_bounded_on_a_long_stream[window_sort-rising-61]" in done.stdout, done.stdout + done.stderr
