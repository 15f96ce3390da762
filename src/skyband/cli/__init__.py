"""The command line."""


def main() -> None:
    """Imported when it is called: Spark's workers import a module beside it, the market, and nothing of this."""
    from skyband.cli.main import main as run

    run()
