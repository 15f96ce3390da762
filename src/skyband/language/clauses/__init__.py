"""Statements of the language: CREATE STREAM, CREATE QUERY, SELECT TOP, and their clauses."""
