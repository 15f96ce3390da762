"""Kernels that several algorithms, or the runtime itself, use: panes, ranked runs, pruning, deletes, small groups."""
