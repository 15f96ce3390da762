"""Kernels of `mtoplist`, `mtopband`, `mintopk`, `kskyband` and `above`: candidates of a window in lists."""
