"""`python -m skyband` is the command `skyband`."""

from skyband.cli.main import main

main()
