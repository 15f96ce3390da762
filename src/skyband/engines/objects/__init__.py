"""Engines for objects whose attributes arrive apart, in several streams (incomplete-cikm09)."""
