"""Kernels of `sla`: one sorted list per stream, and a view of the best objects."""
