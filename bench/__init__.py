"""Measurements: `python -m bench` runs every row, `python -m bench one-query` one of them, `--list` names them.

A row is a small function that measures several contestants in turns, in one run, and returns figures and ratios.
Figures in seconds hold for one machine on one day; ratios travel. Results go to `bench/results/` as JSON.
"""
