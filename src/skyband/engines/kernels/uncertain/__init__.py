"""Kernels of `pk_topk` and `pk_normal`: possible worlds, and scores with an error."""
