"""`python -m skyband` is the command `skyband`."""

from skyband.cli import main

main()
