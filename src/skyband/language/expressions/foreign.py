"""What people know from other dialects and write here: the right spelling, or why there is none.

A hint by similarity would name something unrelated: `len` is near `ln`, and `now` near `not`.
"""

from __future__ import annotations

from collections.abc import Iterable

from skyband.errors import SkybandError, Span
from skyband.model.names import nearest

_MANY_RECORDS = (
    "avg mean sum count max min max_by min_by first last median mode stddev variance corr collect_list collect_set any "
    "every some percentile rank dense_rank row_number lag lead ntile first_value last_value approx_count_distinct"
)
AGGREGATES = frozenset(_MANY_RECORDS.split())
_LENGTH, _PLACE = "length(x)", "contains(x, 'a') and startswith(x, 'a') tell whether; where is not told"
_CLOCK = "an answer depends on the records alone, not on the clock: the window says how far back it looks"
_CHANCE = "an answer depends on the records alone, and the same ones give the same answer"
_PART = "hour(ts); year, quarter, month, day, dayofweek, weekday, dayofyear, minute and second work alike"
_BETWEEN = "unix_seconds(a) - unix_seconds(b) is the time between two, in seconds"
_READ = "declare the column with its form: CREATE STREAM s (ts TIMESTAMP FORMAT 'yyyy-MM-dd HH:mm:ss') WITH (TIME = ts)"
_EPOCH = "declare the column as a count since 1970: CREATE STREAM s (ts TIMESTAMP FROM UNIX_MILLIS) WITH (TIME = ts)"
_MONDAY = "date_trunc('week', ts) is the Monday before"
_ADDED = "times cannot be moved; unix_seconds(ts) + 60 is a number that can be ranked by and compared"
_PATTERN = "patterns are LIKE 'a%', startswith(x, 'a'), endswith(x, 'a') and contains(x, 'a')"
_PADDED = "text cannot be filled up; right(concat('000', x), 3) is three characters wide"
_CUT = "text cannot be cut at a sign; substr(x, 1, 3), left and right cut at places"
_NOT_NUMBERS = "tan(x), sin(x), cos(x), tanh(x) and atan2(y, x) are there"
_CASE = "CASE x WHEN 1 THEN 'a' ELSE 'b' END"
_TEXT = "numbers and times cannot be made text; they are shown as what they are"
_WINDOW = "the window stands behind the stream: FROM s [RANGE 1 HOUR SLIDE 1 MINUTE]"
_FUNCTIONS = {
    "len": _LENGTH, "character_length": _LENGTH, "charlength": _LENGTH, "strlen": _LENGTH, "octet_length": _LENGTH,
    "mid": "substr(x, 1, 3)", "slice": "substr(x, 1, 3)", "split_part": _CUT, "substring_index": _CUT, "split": _CUT,
    "locate": _PLACE, "instr": _PLACE, "position": _PLACE, "strpos": _PLACE, "charindex": _PLACE, "find": _PLACE,
    "now": _CLOCK, "current_timestamp": _CLOCK, "current_date": _CLOCK, "current_time": _CLOCK, "getdate": _CLOCK,
    "sysdate": _CLOCK, "localtimestamp": _CLOCK, "today": _CLOCK, "curdate": _CLOCK,
    "rand": _CHANCE, "random": _CHANCE, "randn": _CHANCE, "uuid": _CHANCE, "newid": _CHANCE,
    "cot": "1 / tan(x)", "sec": "1 / cos(x)", "csc": "1 / sin(x)", "asin": _NOT_NUMBERS, "acos": _NOT_NUMBERS,
    "atan": "atan2(x, 1)", "sinh": "(exp(x) - exp(-x)) / 2", "cosh": "(exp(x) + exp(-x)) / 2", "asinh": _NOT_NUMBERS,
    "acosh": _NOT_NUMBERS, "atanh": _NOT_NUMBERS, "square": "x * x, or power(x, 2)", "pi": "3.141592653589793",
    "e": "exp(1)", "factorial": "there is none", "truncate": "floor(x), ceil(x) or CAST(x AS BIGINT)",
    "trunc": "of times date_trunc('day', ts); of numbers floor(x), ceil(x) or CAST(x AS BIGINT)",
    "time": "hour(ts), minute(ts) and second(ts)", "date": "to_date(ts)", "timestamp": _READ, "datetime": _READ,
    "week": "date_trunc('week', ts) is the Monday before; dayofweek(ts) and weekday(ts) are days",
    "weekofyear": _MONDAY, "isoweek": _MONDAY,
    "day_of_week": "dayofweek(ts), Sunday 1, or weekday(ts), Monday 0", "day_of_month": "day(ts)",
    "day_of_year": "dayofyear(ts)", "dayname": "dayofweek(ts), Sunday 1", "monthname": "month(ts)",
    "month_name": "month(ts)", "extract": _PART, "date_part": _PART, "datepart": _PART,
    "datediff": _BETWEEN, "date_diff": _BETWEEN, "timestampdiff": _BETWEEN, "timediff": _BETWEEN, "age": _BETWEEN,
    "months_between": _BETWEEN, "date_add": _ADDED, "dateadd": _ADDED, "date_sub": _ADDED, "timestampadd": _ADDED,
    "add_months": _ADDED, "to_timestamp": _READ, "to_time": _READ, "strptime": _READ, "parse_timestamp": _READ,
    "from_unixtime": _EPOCH, "timestamp_seconds": _EPOCH, "timestamp_millis": _EPOCH, "timestamp_micros": _EPOCH,
    "unix_timestamp": "unix_seconds(ts)", "to_unix_timestamp": "unix_seconds(ts)", "epoch": "unix_seconds(ts)",
    "unixtime": "unix_seconds(ts)", "to_unixtime": "unix_seconds(ts)", "epoch_ms": "unix_millis(ts)",
    "date_format": _TEXT, "to_char": _TEXT, "strftime": _TEXT, "format": _TEXT, "string": _TEXT, "str": _TEXT,
    "to_number": "CAST takes numbers only: declare the column as one", "float": "CAST(x AS DOUBLE)",
    "int": "CAST(x AS BIGINT)", "integer": "CAST(x AS BIGINT)", "convert": "CAST(x AS DOUBLE), CAST(x AS BIGINT)",
    "xor": "a <> b of two conditions", "iif": "if(a > 1, b, c)", "decode": _CASE, "choose": _CASE, "switch": _CASE,
    "nvl2": "if(x IS NULL, b, a)", "zeroifnull": "coalesce(x, 0)",
    "nullifzero": "nullif(x, 0)", "sgn": "sign(x)", "fmod": "x % 2", "modulo": "x % 2", "pmod": "(x % n + n) % n",
    "clamp": "least(greatest(x, 0), 100)", "width_bucket": "floor(x / 10)",
    "concat_ws": "concat(a, ',', b); NULL if one is", "group_concat": "a list of values is not kept",
    "initcap": "concat(upper(left(x, 1)), lower(substr(x, 2)))",
    "capitalize": "concat(upper(left(x, 1)), lower(substr(x, 2)))", "reverse": "text cannot be turned round",
    "lpad": _PADDED, "rpad": _PADDED, "repeat": _PADDED, "space": _PADDED, "translate": "replace(x, 'a', 'b')",
    "overlay": "concat(left(x, 2), 'new', substr(x, 5))", "strip": "trim(x)", "btrim": "trim(x)",
    "upcase": "upper(x)", "downcase": "lower(x)", "to_upper": "upper(x)", "to_lower": "lower(x)",
    "regexp_like": _PATTERN, "regexp": _PATTERN, "rlike": _PATTERN, "regexp_matches": _PATTERN, "ilike": _PATTERN,
    "regexp_extract": _PATTERN, "regexp_replace": "replace(x, 'a', 'b')", "regexp_substr": _PATTERN,
    "has_prefix": "startswith(x, 'a')", "prefix": "startswith(x, 'a')", "suffix": "endswith(x, 'a')",
    "md5": "there is no hash", "hash": "there is no hash", "sha2": "there is no hash", "crc32": "there is no hash",
    "tumble": _WINDOW, "hop": _WINDOW, "window": _WINDOW, "session": _WINDOW, "session_window": _WINDOW,
}  # fmt: skip
_EVERY_VALUE = "it takes every value of a group, and one number is kept of each: AVG, MIN and MAX are near"
_SPREAD = "AVG(x * x) - AVG(x) * AVG(x) is the variance, and sqrt of that the standard deviation"
_AGGREGATES = {
    "mean": "AVG(x)", "average": "AVG(x)", "total": "SUM(x)", "countif": "SUM(if(a > 1, 1, 0))",
    "count_if": "SUM(if(a > 1, 1, 0))", "sumif": "SUM(if(a > 1, x, 0))", "sum_if": "SUM(if(a > 1, x, 0))",
    "stddev": _SPREAD, "stddev_pop": _SPREAD, "stddev_samp": _SPREAD, "std": _SPREAD, "variance": _SPREAD,
    "var_pop": _SPREAD, "var_samp": _SPREAD, "median": _EVERY_VALUE, "mode": _EVERY_VALUE, "percentile": _EVERY_VALUE,
    "percentile_cont": _EVERY_VALUE, "percentile_approx": _EVERY_VALUE, "approx_percentile": _EVERY_VALUE,
    "quantile": _EVERY_VALUE, "first": "LAST(x) is the newest value; the oldest is not kept",
    "first_value": "LAST(x) is the newest value; the oldest is not kept", "last_value": "LAST(x)",
    "any_value": "LAST(x)", "arbitrary": "LAST(x)", "max_by": "LAST(x) is that of the newest record",
    "min_by": "LAST(x) is that of the newest record", "arg_max": "LAST(x) is that of the newest record",
    "approx_count_distinct": "COUNT(DISTINCT x), and APPROXIMATE behind ORDER BY",
    "count_distinct": "COUNT(DISTINCT x)", "uniq": "COUNT(DISTINCT x)", "bool_or": "MAX(flag)", "any": "MAX(flag)",
    "some": "MAX(flag)", "bool_and": "MIN(flag)", "every": "MIN(flag)", "product": "exp(SUM(ln(x)))",
    "collect_list": "a list of values is not kept", "collect_set": "a list of values is not kept",
    "array_agg": "a list of values is not kept", "string_agg": "a list of values is not kept",
    "listagg": "a list of values is not kept", "corr": "of the sums SUM(x), SUM(y), SUM(x * y) it can be made",
}  # fmt: skip
SIGNS = {
    "xor": "a <> b of two conditions", "ilike": "lower(x) LIKE 'a%'", "similar": _PATTERN, "glob": _PATTERN,
    "regexp": _PATTERN, "~": _PATTERN, "**": "power(a, b)", "//": "a DIV b",
    "filter": "SUM(CASE WHEN a > 1 THEN x END)",
    "collate": "text is compared by its bytes; lower(x) takes no notice of letter case", "at": "times are UTC",
}  # fmt: skip
"""What stands between two operands elsewhere."""
COLUMNS = {
    **{name: _CLOCK for name, hint in _FUNCTIONS.items() if hint == _CLOCK},
    **dict.fromkeys(("window_start", "window_end", "row_start", "row_end", "rank", "score"), "every result row has it"),
}
"""Names that are no column of a stream, unless it has such a one."""
_FORMS = {"trim": "trim(x), ltrim(x) and rtrim(x) take blanks away", "substring": "substr(x, 1, 4)"}


def unknown_function(name: str, known: Iterable[str], span: Span) -> SkybandError:
    """A function of one record that is not there."""
    hint = _FUNCTIONS.get(name.lower()) or _near(name, known) or "docs/language.md lists the functions there are"
    return SkybandError(f"there is no function `{name}`", hint=hint, span=span)


def unknown_aggregate(name: str, known: Iterable[str], aggregates: Iterable[str], span: Span) -> SkybandError:
    """Of a query with GROUP BY, neither an aggregate nor a function."""
    words = [*known, *aggregates]
    if name.lower() not in _AGGREGATES and name.lower() not in AGGREGATES:
        return unknown_function(name, words, span)
    listed = ", ".join(aggregates)
    hint = _AGGREGATES.get(name.lower()) or _near(name, words)
    return SkybandError(f"there is no aggregate `{name}`", expected=f"one of {listed}", hint=hint, span=span)


def foreign_form(name: str, known: Iterable[str], span: Span) -> SkybandError | None:
    """`extract(hour FROM ts)`: a function with words between its arguments."""
    if name.lower() in _FORMS:
        return SkybandError(
            f"words between the arguments of `{name}`",
            expected="arguments with commas between them",
            hint=_FORMS[name.lower()],
            span=span,
        )
    return unknown_function(name, known, span) if name.lower() in _FUNCTIONS else None


def _near(name: str, known: Iterable[str]) -> str | None:
    near = nearest(name, known)
    return f"did you mean `{near}`?" if near else None


_SEVERAL = {
    "max": "of several columns the largest is greatest(a, b); ",
    "min": "of several columns the smallest is least(a, b); ",
}


def many_records(name: str, span: Span) -> SkybandError:
    """An aggregate where one record is looked at."""
    return SkybandError(
        f"{name}() looks at many records, an expression at one",
        expected="a function of one record's columns",
        hint=f"{_SEVERAL.get(name, '')}GROUP BY makes one row of many records, and HAVING takes conditions on them",
        span=span,
    )
