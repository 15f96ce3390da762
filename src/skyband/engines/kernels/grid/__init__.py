"""Kernels of `tma`, `sma` and `tsl`: points with several columns, and many scoring functions over them."""
