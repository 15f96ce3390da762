"""What keeps a family's candidates: one engine per PER group, one table for all groups, or both."""
