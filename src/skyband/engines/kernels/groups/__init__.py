"""Numbers for the words that name groups."""
