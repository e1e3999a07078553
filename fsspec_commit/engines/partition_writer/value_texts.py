"""Values of partition columns as text, exactly as Spark casts them to strings.

So the directories are the same as Spark's: ``price=1.0E7``, ``at=2026-11-20 07%3A30%3A00``.
"""

import re
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa
import pyarrow.types as kinds

from fsspec_commit.errors import RequestError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_US = 86_400_000_000
# After 400 years the calendar repeats, weekdays included, and so do rules of daylight saving.
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
_FIRST_DAY, _LAST_DAY = -719_000, 2_932_000  # of the years that datetime knows, less some days
_OFFSET = re.compile(r"(?:GMT|UTC|UT)?([+-])(\d{1,2}):?(\d{2})?(?::?(\d{2}))?")
_YEAR_MAX = 9_999
# Short names of zones in Java that the time zone database does not have: `ZoneId.SHORT_IDS`.
_SHORT_NAMES = """
    Z=UTC UT=UTC ACT=Australia/Darwin AET=Australia/Sydney AGT=America/Argentina/Buenos_Aires
    ART=Africa/Cairo AST=America/Anchorage BET=America/Sao_Paulo BST=Asia/Dhaka CAT=Africa/Harare
    CNT=America/St_Johns CST=America/Chicago CTT=Asia/Shanghai EAT=Africa/Addis_Ababa
    ECT=Europe/Paris IET=America/Indiana/Indianapolis IST=Asia/Kolkata JST=Asia/Tokyo
    MIT=Pacific/Apia NET=Asia/Yerevan NST=Pacific/Auckland PLT=Asia/Karachi PNT=America/Phoenix
    PRT=America/Puerto_Rico PST=America/Los_Angeles SST=Pacific/Guadalcanal VST=Asia/Ho_Chi_Minh
"""
_SHORT_ZONES = dict(one.split("=") for one in _SHORT_NAMES.split())
# Where Java begins to write a number as 1.0E7, and as 9.0E-4.
_LARGE, _SMALL = 1e7, 1e-3
_DIGITS_OF_FLOAT = 10


def texts_of(values: pa.Array) -> list[str | None]:
    """The text of each of *values*.

    Raises:
        RequestError: No directory is named by values of this type.
    """
    text_of = _writer(values.type)
    return [None if value is None else text_of(value) for value in _plain(values).to_pylist()]


def check_partition_type(name: str, kind: pa.DataType) -> None:
    """Refuse a column whose values cannot name directories.

    Raises:
        RequestError: Its values cannot.
    """
    try:
        _writer(kind)
    except RequestError as error:
        message = f"cannot partition by {name!r}: {error}"
        raise RequestError(message, kind="invalid_option") from None


def _writer(kind: pa.DataType) -> Callable[[Any], str]:
    for fits, text_of in _WRITERS:
        if fits(kind):
            return text_of
    if kinds.is_timestamp(kind):
        zone = None if kind.tz is None else _zone(kind.tz)
        return lambda value: _timestamp(value, zone)
    message = f"no directory is named by a value of type {kind}; cast the column to a string"
    raise RequestError(message, kind="invalid_option")


def _plain(values: pa.Array) -> pa.Array:
    """Times as numbers: Python's own types have no year 10000, and no year 0."""
    if kinds.is_timestamp(values.type):
        return values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64())
    if kinds.is_date32(values.type):
        return values.cast(pa.int32())
    return values


def _decimal(value: Any) -> str:
    return format(value, "f")


def _boolean(value: bool) -> str:  # noqa: FBT001  # called by type
    return "true" if value else "false"


def _binary(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        message = (
            "a binary value of a partition column is no UTF-8, so no directory is named after it: "
            "partition by hex(column) instead"
        )
        raise RequestError(message, kind="invalid_option") from None


def _date(days: int) -> str:
    cycles = 0
    if not _FIRST_DAY < days < _LAST_DAY:
        cycles = (days + 719_468) // _CYCLE_DAYS - 5
    day = _EPOCH + timedelta(days=days - cycles * _CYCLE_DAYS)
    return f"{_year(day.year + cycles * _CYCLE_YEARS)}-{day:%m-%d}"


def _timestamp(micros: int, zone: tzinfo | None) -> str:
    days = micros // _DAY_US
    cycles = 0
    if not _FIRST_DAY < days < _LAST_DAY:
        # Before 1883 no zone has rules; those of the far future are those of 2001 to 2400.
        cycles = (days + 719_468) // _CYCLE_DAYS - (5 if days > 0 else 1)
    at = _EPOCH + timedelta(microseconds=micros - cycles * _CYCLE_DAYS * _DAY_US)
    local = at if zone is None else at.astimezone(zone)
    text = f"{_year(local.year + cycles * _CYCLE_YEARS)}-{local:%m-%d %H:%M:%S}"
    return f"{text}.{local.microsecond:06d}".rstrip("0") if local.microsecond else text


def _year(year: int) -> str:
    if year > _YEAR_MAX:
        return f"+{year}"
    return f"-{-year:04d}" if year < 0 else f"{year:04d}"


def _zone(name: str) -> tzinfo:
    if offset := _OFFSET.fullmatch(name):
        hours, minutes, seconds = (int(part or 0) for part in offset.groups()[1:])
        length = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return timezone(-length if offset[1] == "-" else length)
    try:
        return ZoneInfo(_SHORT_ZONES.get(name, name))
    except (ZoneInfoNotFoundError, ValueError) as error:
        message = (
            f"the time zone {name!r} of the session is not known here, so no directory is named "
            "by its times: install the package tzdata on every worker, or cast the column to a "
            "string"
        )
        raise RequestError(message, kind="missing_package") from error


def _double(value: float) -> str:
    shortest = repr(abs(value))
    # Java writes at least two digits: two others may be closer than the shortest and a zero.
    return _java(f"{abs(value):.1e}" if len(_scientific(shortest)[0]) == 1 else shortest, value)


def _float(value: float) -> str:
    """The shortest text that is read as this float of 32 bits.

    Java before version 19 writes some floats with one digit more.
    """
    magnitude = abs(value)
    for digits in range(2, _DIGITS_OF_FLOAT):
        text = f"{magnitude:.{digits}g}"
        if _as_float(float(text)) == magnitude:
            return _java(text, value)
    return _java(repr(magnitude), value)


def _as_float(value: float) -> float:
    try:
        single: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return float("inf")
    return single


def _java(shortest: str, value: float) -> str:
    """*value* as Java writes it, from the shortest text of its magnitude."""
    magnitude = abs(value)
    if magnitude != magnitude:  # noqa: PLR0124  # only what is no number differs from itself
        return "NaN"
    sign = "-" if str(value).startswith("-") else ""
    if magnitude == float("inf"):
        return f"{sign}Infinity"
    digits, exponent = _scientific(shortest)
    if magnitude and not _SMALL <= magnitude < _LARGE:
        return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    return f"{sign}{whole}.{digits[exponent + 1 :] or '0'}"


def _scientific(text: str) -> tuple[str, int]:
    """The digits of a number without zeros at either end, and the exponent of the first."""
    mantissa, _, power = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    exponent = len(whole) - 1 + int(power or 0)
    leading = len(digits) - len(digits.lstrip("0"))
    digits = digits.strip("0")
    return (digits, exponent - leading) if digits else ("0", 0)


_WRITERS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any], str]], ...] = (
    (kinds.is_string, str),
    (kinds.is_large_string, str),
    (kinds.is_integer, str),
    (kinds.is_boolean, _boolean),
    (kinds.is_date32, _date),
    (kinds.is_float32, _float),
    (kinds.is_float64, _double),
    (kinds.is_decimal, _decimal),
    (kinds.is_binary, _binary),
    (kinds.is_large_binary, _binary),
)
