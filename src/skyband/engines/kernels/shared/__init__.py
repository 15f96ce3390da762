"""Kernels of `shared`: partitions that all queries of a family share."""
