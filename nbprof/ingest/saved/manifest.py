"""The manifest of nbprof's own file: JSON that lists the tables and holds all other values."""

import json
from typing import Any, TypeVar

from nbprof import file_format
from nbprof.ingest.saved.zip_members import DamageError, Members

Expected = TypeVar("Expected")

TYPES = {dict: "an object", list: "an array", str: "a text", int: "a whole number"}
"""Names of JSON types in errors."""


def read_manifest(members: Members) -> dict[str, Any]:
    """Read the manifest; refuse a version that this nbprof does not know."""
    name = file_format.MANIFEST
    size = members.size(name)
    if size > file_format.most_bytes(file_format.SMALL_MANIFEST, members.file_size):
        raise DamageError(
            f"{name} claims to unpack to {size:,} bytes, too many for a file of this size"
        )
    try:
        manifest = json.loads(members.read(name, size))
    except (ValueError, RecursionError) as error:
        raise DamageError(f"{name} is not JSON ({error})") from error
    if not isinstance(manifest, dict) or manifest.get("format") != file_format.NAME:
        raise DamageError(f'{name} should begin with {{"format": "{file_format.NAME}"')
    version = expect(manifest, "version", int, name)
    if version > file_format.VERSION:
        raise DamageError(
            f"it has version {version} of the format and was written by a newer nbprof; "
            f"this one knows versions up to {file_format.VERSION}, so update nbprof"
        )
    if version < 1:
        raise DamageError(f"{name} has version {version}, but versions start at 1")
    return manifest


def expect(values: dict[str, Any], key: str, kind: type[Expected], place: str) -> Expected:
    """Return the value of a key; refuse one that is missing or of another type."""
    value = values.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise DamageError(f"{place} should have {TYPES[kind]} under {key!r}")
    return value


def decode_all(values: dict[str, Any]) -> dict[str, Any]:
    """Decode the values of all keys."""
    return {name: decode(value) for name, value in values.items()}


def decode(value: Any) -> Any:
    """Return the Python value that `export` encoded as JSON."""
    if isinstance(value, list):
        return tuple(decode(item) for item in value)
    if not isinstance(value, dict):
        return value
    if value.get(file_format.FLOAT) in ("nan", "inf", "-inf"):
        return float(value[file_format.FLOAT])
    if isinstance(value.get(file_format.LIST), list):
        return [decode(item) for item in value[file_format.LIST]]
    raise DamageError(f"{file_format.MANIFEST} has a value of an unknown kind: {str(value)[:60]}")
