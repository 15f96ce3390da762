"""Scores of points and bounds of boxes, for queries that each have their own scoring function.

A score is a sum of weighted columns, or a small program in postfix form. Both are worked out in doubles, step by step
in the order in which they were written, so that a kernel's score is bit for bit the one of the expression. Rounding is
monotone: the same steps done on the ends of intervals bound the score of every point of a box, in doubles too.
"""

from __future__ import annotations

from math import copysign

import numpy as np

from skyband.engines.kernels.grid.state import Cells, Queries
from skyband.engines.kernels.jit import inlined, kernel
from skyband.model.many import ABSOLUTE, ADD, COLUMN, CONSTANT, MULTIPLY, NEGATE, SUBTRACT
from skyband.model.types import Flags, Floats, Ints


@inlined
def merit(queries: Queries, q: int, x: Floats, i: int) -> float:
    """What query q thinks of point x[i]; NaN where it has no score. (A row is not cut out of x: that would cost more
    than the score.)"""
    terms = queries.terms[q]
    if terms > 0:
        total = queries.weight[q, 0] * x[i, queries.column[q, 0]]
        for j in range(1, terms):
            total += queries.weight[q, j] * x[i, queries.column[q, j]]
        return float(total)
    return run_program(queries, q, x, i)


@inlined
def run_program(queries: Queries, q: int, x: Floats, row: int) -> float:
    stack = queries.scratch
    value = queries.value
    top = -1
    for i in range(queries.begin[q], queries.begin[q + 1]):
        what = queries.op[i]
        if what == CONSTANT:
            top += 1
            stack[0, top] = value[i]
        elif what >= COLUMN:
            top += 1
            stack[0, top] = x[row, what - COLUMN]
        elif what == NEGATE:
            stack[0, top] = -stack[0, top]
        elif what == ABSOLUTE:
            stack[0, top] = abs(stack[0, top])
        else:
            top -= 1
            if what == ADD:
                stack[0, top] = stack[0, top] + stack[0, top + 1]
            elif what == SUBTRACT:
                stack[0, top] = stack[0, top] - stack[0, top + 1]
            elif what == MULTIPLY:
                stack[0, top] = stack[0, top] * stack[0, top + 1]
            else:
                stack[0, top] = stack[0, top] / stack[0, top + 1]
    return float(stack[0, 0])


@inlined
def bound(queries: Queries, q: int, cells: Cells, node: int) -> float:
    """No point of the node's box has a higher merit. For sums it is the merit of the box's best corner."""
    terms = queries.terms[q]
    if terms > 0:
        depth = cells.depth[node]
        total = 0.0
        for j in range(terms):
            weight = queries.weight[q, j]
            c = queries.column[q, j]
            corner = cells.low[node, c] + (cells.reach[depth, c] if weight > 0 else 0)
            part = weight * cells.edge[c, corner]
            total = part if j == 0 else total + part
        return float(total)
    return program_bound(queries, q, cells, node)


@inlined
def program_bound(queries: Queries, q: int, cells: Cells, node: int) -> float:
    """Interval arithmetic: every step is bounded by what the ends of its operands give."""
    least = queries.scratch[0]
    most = queries.scratch[1]
    depth = cells.depth[node]
    top = -1
    for i in range(queries.begin[q], queries.begin[q + 1]):
        what = queries.op[i]
        if what == CONSTANT:
            top += 1
            least[top] = queries.value[i]
            most[top] = queries.value[i]
        elif what >= COLUMN:
            top += 1
            c = what - COLUMN
            least[top] = cells.edge[c, cells.low[node, c]]
            most[top] = cells.edge[c, cells.low[node, c] + cells.reach[depth, c]]
        elif what == NEGATE:
            least[top], most[top] = -most[top], -least[top]
        elif what == ABSOLUTE:
            far = max(abs(least[top]), abs(most[top]))
            near = 0.0 if least[top] <= 0 <= most[top] else min(abs(least[top]), abs(most[top]))
            least[top], most[top] = near, far
        else:
            top -= 1
            a, b, y, z = least[top], most[top], least[top + 1], most[top + 1]
            if what == ADD:
                least[top], most[top] = a + y, b + z
            elif what == SUBTRACT:
                least[top], most[top] = a - z, b - y
            elif what == MULTIPLY:
                least[top] = min(min(a * y, a * z), min(b * y, b * z))
                most[top] = max(max(a * y, a * z), max(b * y, b * z))
            else:
                # Divisors are constants (the language sees to it), so both ends of the divisor are one number.
                least[top], most[top] = min(a / y, b / y), max(a / y, b / y)
    return float(most[0])


@inlined
def qualifies(queries: Queries, q: int, x: Floats, i: int) -> bool:
    """Inside the query's rectangle. NaN is above every number; NULL, a NaN with its sign set, is nowhere."""
    if not queries.limited[q]:
        return True
    for j in range(x.shape[1]):
        low = queries.low[q, j]
        high = queries.high[q, j]
        if low == -np.inf and high == np.inf:
            continue
        if np.isnan(x[i, j]):
            if copysign(1.0, x[i, j]) < 0 or high < np.inf:
                return False
        elif not low <= x[i, j] <= high:
            return False
    return True


@inlined
def apart(queries: Queries, q: int, cells: Cells, node: int) -> bool:
    """The node's box and the query's rectangle have no point in common."""
    if queries.limited[q]:
        depth = cells.depth[node]
        for j in range(len(cells.sides)):
            first = cells.low[node, j]
            if queries.high[q, j] < cells.edge[j, first]:
                return True
            if queries.low[q, j] > cells.edge[j, first + cells.reach[depth, j]]:
                return True
    return False


@kernel
def ranking_scores(queries: Queries, which: Ints, x: Floats) -> Floats:
    """Row i's score for query `which[i]`, higher first."""
    found = np.empty(len(which))
    for i in range(len(which)):
        # Adding zero makes -0 the same as 0.
        found[i] = queries.turn[which[i]] * merit(queries, which[i], x, i) + 0.0
    return found


@kernel
def standing(queries: Queries, chosen: Ints, x: Floats) -> tuple[Flags, Flags]:
    """For every row and chosen query: whether the row passes the filter, and whether it is ranked as well."""
    passed = np.zeros((len(x), len(chosen)), np.bool_)
    ranked = np.zeros((len(x), len(chosen)), np.bool_)
    for i in range(len(x)):
        for j in range(len(chosen)):
            if qualifies(queries, chosen[j], x, i):
                passed[i, j] = True
                ranked[i, j] = not np.isnan(merit(queries, chosen[j], x, i))
    return passed, ranked
