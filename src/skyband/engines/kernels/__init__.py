"""Pure functions on arrays, compiled by Numba; the only place that imports it.

A folder says whose kernels are in it; what several algorithms use is in `common`, and how they are compiled in `jit`.

Vocabulary: a record's `score` (higher is better), `at` (time or position) and `id` (feed number). `a` outranks `b` when
its score is higher, or equal and its id larger: newer wins a tie.
"""
