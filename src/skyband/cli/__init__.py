"""The command `skyband`: thin commands over the rooms below."""

from skyband.cli.main import main

__all__ = ["main"]
