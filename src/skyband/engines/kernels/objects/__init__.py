"""Kernels of `eaa` and `approximate`: objects whose values come apart, from several streams."""
