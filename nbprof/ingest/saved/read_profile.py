"""Read nbprof's own file into a Profile; docs/own-file.md describes the format."""

from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

import numpy as np

from nbprof._profile import TABLES, Profile
from nbprof.categories import FORMER_TITLES
from nbprof.columns import summed_columns
from nbprof.errors import NbprofError
from nbprof.file_format import MANIFEST, VERSION
from nbprof.ingest.saved.live_bytes import add_live_bytes
from nbprof.ingest.saved.manifest import decode, decode_all, expect, read_manifest
from nbprof.ingest.saved.stored_tables import StoredColumn, StoredTable, read_tables
from nbprof.ingest.saved.table_checks import check_columns, check_values
from nbprof.ingest.saved.zip_members import DamageError, Members
from nbprof.lazy_tables import lazily
from nbprof.note import Note
from nbprof.recording import Recording

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Contents:
    """The contents of a file, before they become a Profile."""

    tables: "dict[str, Callable[[], pd.DataFrame]]"
    """Functions that make the tables, by table."""
    recording: dict[str, Any]
    fields: dict[str, Any]


def _from_1_to_2(contents: Contents) -> Contents:
    """Change nothing: readers still accept an op log in the table of nodes, as in version 1."""
    return contents


UPGRADES: dict[int, Callable[[Contents], Contents]] = {1: _from_1_to_2}
"""Functions that upgrade the contents of a version to the next one."""


def read_own_file(path: Path) -> Profile:
    """Read a file that `profile.save` wrote; run no code from it and trust no size in it."""
    try:
        with path.open("rb") as file:
            return _read_profile(Members(file))
    except DamageError as damage:
        raise NbprofError(f"{path} cannot be read as nbprof's own file: {damage}.") from damage
    except RecursionError as error:
        raise NbprofError(f"{path} cannot be read: {MANIFEST} is nested too deeply.") from error
    except OSError as error:
        raise NbprofError(f"{path} cannot be read: {error.strerror or error}.") from error


def _read_profile(members: Members) -> Profile:
    manifest = read_manifest(members)
    tables = read_tables(members, expect(manifest, "tables", dict, MANIFEST), TABLES)
    check_values(tables)
    stored_recording = decode_all(expect(manifest, "recording", dict, MANIFEST))
    if not stored_recording.get("tfprof"):
        stored_recording |= add_live_bytes(tables)
    _add_missing_metrics(tables)
    _rename_categories(tables)
    contents = Contents(
        tables={name: lazily(table.make) for name, table in tables.items()},
        recording=stored_recording,
        fields=decode_all(expect(manifest, "fields", dict, MANIFEST)) | _notes(manifest),
    )
    for version in range(expect(manifest, "version", int, MANIFEST), VERSION):
        contents = UPGRADES[version](contents)
    recording = Recording(**_values_of(Recording, contents.recording, "the recording"))
    check_columns(tables, recording.tfprof)
    values = contents.fields | contents.tables | {"recording": recording}
    return Profile(**_values_of(Profile, values, "the profile"))


def _notes(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the notes with the columns they are about, if the file says that of each."""
    notes = manifest["fields"].get("notes")
    columns = manifest.get("columns_of_notes")
    if not isinstance(notes, list) or not isinstance(columns, list) or len(notes) != len(columns):
        return {}
    return {
        "notes": tuple(
            Note(note, tuple(map(str, about)))
            if isinstance(note, str) and isinstance(about, list) and about
            else decode(note)
            for note, about in zip(notes, columns, strict=True)
        )
    }


def _add_missing_metrics(tables: dict[str, StoredTable]) -> None:
    """Fill metrics that are newer than the file with NaN, which means "not recorded"."""
    if "events" in tables:
        events = tables["events"]
        for name in summed_columns():
            if name not in events.columns:
                events.columns[name] = StoredColumn("float64", np.full(events.rows, np.nan))


def _rename_categories(tables: dict[str, StoredTable]) -> None:
    """Rename the categories of the wall time that had other names when the file was saved."""
    category = tables["spent"].columns.get("category") if "spent" in tables else None
    if category is not None and category.values is not None:
        for place, title in enumerate(category.values):
            category.values[place] = FORMER_TITLES.get(title, title)


def _values_of(kind: type, values: dict[str, Any], place: str) -> dict[str, Any]:
    """Return the values of the fields of a dataclass that are present."""
    return {
        field.name: values[field.name]
        for field in fields(kind)
        if _is_present(field, values, place)
    }


def _is_present(field: Field[Any], values: dict[str, Any], place: str) -> bool:
    """Return whether a field has a value; refuse a missing one or one of another type."""
    if field.name not in values:
        if field.default is MISSING and field.default_factory is MISSING:
            what = "table" if field.name in TABLES else "entry"
            raise DamageError(f"{place} lacks the {what} {field.name!r}")
        return False
    value = values[field.name]
    if not (callable(value) if field.name in TABLES else _fits(value, field.type)):
        raise DamageError(f"{field.name!r} of {place} is not of the type {field.type}")
    return True


def _fits(value: object, expected: Any) -> bool:
    kind, parts = get_origin(expected) or expected, get_args(expected)
    if not isinstance(kind, type):
        return True
    if isinstance(value, tuple) and parts[1:] == (...,):
        return issubclass(tuple, kind) and all(_fits(item, parts[0]) for item in value)
    return isinstance(value, kind)
