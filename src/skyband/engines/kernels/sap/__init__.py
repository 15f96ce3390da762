"""Kernels of `sap`, `sap_dynamic` and `sap_equal`: partitions of one query's window, and the S-AVL."""
