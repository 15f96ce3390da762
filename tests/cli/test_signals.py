"""A stop takes its time, but not for ever, and whoever asks twice is heard at once."""

from __future__ import annotations

import signal
import subprocess
import sys

WAITING = """
import time
from skyband.cli.signals import at_most, stop_signals
stopped = stop_signals()
print("ready", flush=True)
stopped.wait()
print("asked", flush=True)
{then}
print("done", flush=True)
"""


def started(then: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", WAITING.format(then=then)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == "asked\n"
    return process


def test_the_second_signal_ends_it_at_once() -> None:
    process = started("with at_most(): time.sleep(600)")
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)
    assert (process.returncode, said[0]) == (130, "")
    assert said[1] == "skyband: stopped at once; the same command goes on from --checkpoint\n"


def test_a_stop_that_takes_too_long_is_cut_off() -> None:
    process = started("with at_most(0.5): time.sleep(600)")
    assert process.communicate(timeout=60)[0] == ""
    assert process.returncode == 130


def test_a_stop_in_time_goes_on() -> None:
    process = started("with at_most(0.5): pass\ntime.sleep(1)")
    assert process.communicate(timeout=60) == ("done\n", "")
    assert process.returncode == 0
