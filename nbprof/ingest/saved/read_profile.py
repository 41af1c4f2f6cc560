"""nbprof's own file, read into a Profile; docs/own-file.md describes it."""

from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

from nbprof._profile import TABLES, Profile, Recording
from nbprof.errors import NbprofError
from nbprof.file_format import CATALOGUE, VERSION
from nbprof.ingest.saved.manifest import decode_all, expect, read_catalogue
from nbprof.ingest.saved.references import check_pointers
from nbprof.ingest.saved.stored_tables import StoredTable, check_kinds, read_tables
from nbprof.ingest.saved.zip_members import DamageError, Members
from nbprof.lazy_tables import lazily
from nbprof.schema import lacking

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Contents:
    """What a file holds, before it is a Profile."""

    tables: "dict[str, Callable[[], pd.DataFrame]]"
    """What makes each table."""
    recording: dict[str, Any]
    fields: dict[str, Any]


def _from_1_to_2(contents: Contents) -> Contents:
    """Leave what the op log says of nodes among the nodes, where it is still found."""
    return contents


UPGRADES: dict[int, Callable[[Contents], Contents]] = {1: _from_1_to_2}
"""By version: what makes of the contents of such a file those of the version after it."""


def read_own_file(path: Path) -> Profile:
    """Read what `profile.save` wrote; nothing in the file is run, and no size in it believed."""
    try:
        with path.open("rb") as file:
            return _read_profile(Members(file))
    except DamageError as damage:
        raise NbprofError(f"{path} cannot be read as nbprof's own file: {damage}.") from damage
    except RecursionError as error:
        raise NbprofError(f"{path} cannot be read: {CATALOGUE} is nested too deeply.") from error
    except OSError as error:
        raise NbprofError(f"{path} cannot be read: {error.strerror or error}.") from error


def _read_profile(members: Members) -> Profile:
    catalogue = read_catalogue(members)
    version = expect(catalogue, "version", int, CATALOGUE)
    tables = read_tables(members, expect(catalogue, "tables", dict, CATALOGUE), TABLES)
    check_kinds(tables)
    check_pointers(tables)
    contents = Contents(
        tables={name: lazily(table.make) for name, table in tables.items()},
        recording=decode_all(expect(catalogue, "recording", dict, CATALOGUE)),
        fields=decode_all(expect(catalogue, "fields", dict, CATALOGUE)),
    )
    for number in range(version, VERSION):
        contents = UPGRADES[number](contents)
    recording = {
        field.name: contents.recording[field.name]
        for field in fields(Recording)
        if _is_there(field, contents.recording, "the recording")
    }
    made = Recording(**recording)
    hosts = tables["machines"].rows if "machines" in tables else 0
    column = lacking({name: one.columns for name, one in tables.items()}, made.tfprof, hosts > 0)
    if column:
        raise DamageError(f"it lacks {column}")
    if made.tfprof and "nodes" in tables:
        _check_logged(tables["nodes"], tables.get("logged"))
    values = contents.fields | contents.tables | {"recording": made}
    return Profile(
        **{
            field.name: values[field.name]
            for field in fields(Profile)
            if _is_there(field, values, "the profile")
        }
    )


def _check_logged(nodes: StoredTable, logged: StoredTable | None) -> None:
    """Refuse a log of other nodes; nodes of version 1 say themselves what was logged."""
    rows = logged.rows if logged else 0
    if rows != nodes.rows and not {"types", "float_ops"} <= nodes.columns.keys():
        raise DamageError(f"logged should have a row for each of {nodes.rows} nodes and has {rows}")


def _is_there(field: Field[Any], values: dict[str, Any], place: str) -> bool:
    """Tell whether a field has a value, of the type it should have."""
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
        return issubclass(tuple, kind) and all(_fits(one, parts[0]) for one in value)
    return isinstance(value, kind)
