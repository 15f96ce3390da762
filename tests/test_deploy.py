"""What stands in deploy/ speaks of things that are there: metrics, options, queries."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.testing
import yaml  # type: ignore[import-untyped]

import skyband as sb
from skyband.cli.main import app

pytest.importorskip("pyspark")
from prometheus_client import generate_latest
from prometheus_client.registry import CollectorRegistry

from skyband.cli.exporter import Exported, Health
from skyband.spark.metrics import COUNTED, FamilyMeasures, Measures

DEPLOY = Path(__file__).parents[1] / "deploy"
METRIC = re.compile(r"\bskyband_\w+")


def exported() -> set[str]:
    """The metrics of a job that has some of everything."""
    family = FamilyMeasures("shared", {"a": 1}, 1, 0.9, 1.0)
    measures = Measures({"f": family}, watermark=1, last_success=1.0)
    measures.counts.update((*COUNTED, "unranked"))
    measures.fates["q"] = Counter(ranked=1)
    measures.reports["q"] = 1
    registry = CollectorRegistry()
    registry.register(Exported(measures, Health(measures, 60)))
    return set(re.findall(r"^(skyband_\w+)", generate_latest(registry).decode(), re.MULTILINE))


def board() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
    return found


def test_the_dashboard_shows_every_metric_there_is_and_no_other() -> None:
    asked = [each["expr"] for panel in board()["panels"] for each in panel["targets"]]
    shown = {name for text in asked for name in METRIC.findall(text)}
    # Of these it shows what follows from them.
    assert shown == exported() - {"skyband_batches_total", "skyband_records_total", "skyband_watermark_seconds"}
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in board()["panels"]]
    assert len(set(places)) == len(places)


def test_alerts_ask_for_metrics_that_are_there() -> None:
    groups = yaml.safe_load((DEPLOY / "prometheus-alerts.yml").read_text())["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    asked = {name for rule in rules for name in METRIC.findall(rule["expr"])}
    assert asked <= exported()
    assert "skyband_stalled" in asked
    assert all(rule["annotations"]["summary"] and rule["labels"]["severity"] for rule in rules)


def manifests() -> Iterator[dict[str, Any]]:
    return iter(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))


def test_the_pod_runs_a_command_that_there_is() -> None:
    kinds = {each["kind"]: each for each in manifests()}
    container = kinds["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    sb.Workload.from_sql(kinds["ConfigMap"]["data"]["workload.sql"])
    command, path, *options = container["args"]
    # As wide as every option needs, so that none is cut off.
    said = typer.testing.CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "300"}).output
    assert command == "run"
    assert path.startswith("/workload/")
    for option in options:
        assert re.search(rf"{re.escape(option.partition('=')[0])}\b", said), option
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"


def test_the_image_installs_extras_that_there_are() -> None:
    import tomllib

    text = (DEPLOY / "Dockerfile").read_text()
    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]
    extras = re.search(r"skyband\[([\w,]+)\]", text)
    assert extras is not None
    assert set(extras[1].split(",")) <= set(project["optional-dependencies"])
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE)
    assert all((DEPLOY.parent / name).exists() for each in copied for name in each.split())
    kept = (DEPLOY.parent / ".dockerignore").read_text()
    assert all(f"!{name}" in kept for each in copied for name in each.split())
