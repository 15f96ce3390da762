"""The command `skyband`, in `main`. Spark's workers import a module beside it, the market, and nothing of this."""
