"""The slow, obvious answer for each data model, written from the semantics alone."""
