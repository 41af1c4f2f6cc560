"""The JSON in nbprof's own file: what else is in the file, and every value that is not a number."""

import json
from typing import Any, TypeVar

from nbprof import file_format
from nbprof.ingest.saved.zip_members import DamageError, Members

Expected = TypeVar("Expected")

TYPES = {dict: "an object", list: "an array", str: "a text", int: "a whole number"}


def read_catalogue(members: Members) -> dict[str, Any]:
    """Read the JSON that describes the rest, if it is of a version known here."""
    name = file_format.CATALOGUE
    size = members.size(name)
    if size > file_format.most_bytes(file_format.SMALL_CATALOGUE, members.file_size):
        raise DamageError(
            f"{name} claims to unpack to {size:,} bytes, too many for a file of this size"
        )
    try:
        catalogue = json.loads(members.read(name, size))
    except (ValueError, RecursionError) as error:
        raise DamageError(f"{name} is not JSON ({error})") from error
    if not isinstance(catalogue, dict) or catalogue.get("format") != file_format.NAME:
        raise DamageError(f'{name} should begin with {{"format": "{file_format.NAME}"')
    version = expect(catalogue, "version", int, name)
    if version > file_format.VERSION:
        raise DamageError(
            f"it has version {version} of the format and was written by a newer nbprof; "
            f"this one knows versions up to {file_format.VERSION}, so update nbprof"
        )
    if version < 1:
        raise DamageError(f"{name} has the version {version}, and the first was 1")
    return catalogue


def expect(values: dict[str, Any], key: str, kind: type[Expected], place: str) -> Expected:
    """Give what stands under a key, if it is of that kind."""
    value = values.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise DamageError(f"{place} should have {TYPES[kind]} under {key!r}")
    return value


def decode_all(values: dict[str, Any]) -> dict[str, Any]:
    """Give back the values under all keys."""
    return {name: decode(value) for name, value in values.items()}


def decode(value: Any) -> Any:
    """Give back the value that was spelled in JSON."""
    if isinstance(value, list):
        return tuple(decode(one) for one in value)
    if not isinstance(value, dict):
        return value
    if value.get(file_format.FLOAT) in ("nan", "inf", "-inf"):
        return float(value[file_format.FLOAT])
    if isinstance(value.get(file_format.LIST), list):
        return [decode(one) for one in value[file_format.LIST]]
    raise DamageError(f"{file_format.CATALOGUE} has a value of an unknown kind: {str(value)[:60]}")
