"""`--log`: what a job does as lines with a time, a stream and a micro-batch, for those who collect them."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from skyband.cli import context
from skyband.errors import SkybandError
from skyband.redaction import redacted

if TYPE_CHECKING:
    from skyband.spark.metrics import Measures

LEVELS = {"TRACE": logging.DEBUG, "FATAL": logging.CRITICAL}
"""Words of Spark's that Python has not."""
_OF_SPARK = re.compile(r"spark\|(\w+)\|([^|]*)\|(.*)", re.DOTALL)
log = logging.getLogger("skyband")


def _text(said: Mapping[str, Any]) -> str:
    first, rest = dict(said), []
    for name in ("time", "level", "message"):
        first.pop(name)
    rest = [f"{name}={_word(value)}" for name, value in first.items()]
    return " ".join([said["time"], f"{said['level']:<7}", *rest, said["message"]])


def _word(value: object) -> str:
    """A value without blanks, in quotes where it has some."""
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if re.search(r"[\s\"=]", text) or not text else text


def _json(said: Mapping[str, Any]) -> str:
    return json.dumps(said, ensure_ascii=False)


FORMS: dict[str, Callable[[Mapping[str, Any]], str]] = {"text": _text, "json": _json}


class LogLines(logging.Formatter):
    """One line for each thing that is said, whoever says it."""

    def __init__(self, form: str, streams: str) -> None:
        super().__init__()
        self._form, self._streams = FORMS[form], streams
        self.measures: Measures | None = None
        """Of the job, as soon as there is one."""

    def format(self, record: logging.LogRecord) -> str:
        said: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "stream": self._streams,
        }
        if self.measures is not None:
            said["batch"] = self.measures.batch
        said |= getattr(record, "fields", {})
        return self._form(said | {"message": _one_line(redacted(record.getMessage()))})


def _one_line(text: str) -> str:
    """Nothing that was said can begin a line of its own, or move the cursor of who reads it."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text.strip())


def begin(form: str, streams: str) -> LogLines:
    """From now on all that is said becomes such lines on standard error."""
    if form not in FORMS:
        raise SkybandError(f"--log {form}", expected=" or ".join(FORMS))
    lines, handler = LogLines(form, streams), logging.StreamHandler(sys.stderr)
    handler.setFormatter(lines)
    log.setLevel(logging.INFO)
    logging.captureWarnings(True)
    for name in ("skyband", "py.warnings"):
        logging.getLogger(name).addHandler(handler)
        logging.getLogger(name).propagate = False
    context.complain = log.error
    return lines


def of_spark(line: str) -> None:
    """What came from the JVM and its Python workers."""
    found = _OF_SPARK.fullmatch(line.rstrip("\n"))
    if found is None:
        log.warning(line, extra={"fields": {"from": "worker"}})
        return
    level = LEVELS.get(found[1]) or logging.getLevelNamesMapping().get(found[1], logging.WARNING)
    log.log(level, found[3], extra={"fields": {"from": found[2]}})


def micro_batch(measures: Measures, more: Mapping[str, int]) -> None:
    """A micro-batch is done, and has counted so much more."""
    fields: dict[str, Any] = {"batch": measures.batch, "seconds": round(measures.batch_seconds, 3)} | dict(more)
    fields |= {"rows": sum(family.rows for family in measures.families.values()), "state_bytes": measures.state_bytes}
    if measures.watermark is not None:
        fields["watermark"] = measures.watermark
    log.info("micro-batch done", extra={"fields": fields})


class Said:
    """A file whose lines become lines of the log."""

    def write(self, text: str) -> int:
        for line in filter(str.strip, text.splitlines()):
            log.info(line)
        return len(text)

    def flush(self) -> None:
        pass
