"""What all commands share: whether stack traces are wanted, and the workload they are given."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import skyband as sb

debug = False
"""Stack traces are wanted."""


def _to_standard_error(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201


complain: Callable[[str], None] = _to_standard_error
"""Says why a command ends."""


def read_workload(path: Path) -> sb.Workload:
    """The workload in a file; a file that cannot be read is an error like any other."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise sb.SkybandError(
            f"cannot read {path}: {reason}", expected="a file with CREATE STREAM and queries"
        ) from None
    return sb.Workload.from_sql(text)
