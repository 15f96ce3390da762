"""Expressions: read, typed, bound to columns, compiled to NumPy and to Spark SQL."""
