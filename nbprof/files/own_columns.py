"""Whether nbprof's own file has the columns that views need, said before any view is asked for."""

from pathlib import Path
from typing import TYPE_CHECKING

from nbprof._profile import TABLES
from nbprof.errors import NbprofError
from nbprof.ingest.catalogue import read_catalogue
from nbprof.ingest.members import DamageError, Members
from nbprof.schema import lacking

if TYPE_CHECKING:
    from nbprof._profile import Profile


def check_columns(profile: "Profile", path: Path) -> None:
    """Refuse a file that lacks a column, after its profile was read, for no frame is made yet."""
    try:
        with path.open("rb") as file:
            described = read_catalogue(Members(file))["tables"]
    except (OSError, DamageError) as error:
        raise NbprofError(f"{path} cannot be read: it was changed meanwhile.") from error
    tables = {
        name: {column["name"] for column in described[name]["columns"]}
        for name in TABLES
        if name in described
    }
    has_hosts = described.get("machines", {}).get("rows", 0) > 0
    column = lacking(tables, profile.recording.tfprof, has_hosts)
    if column:
        raise NbprofError(f"{path} cannot be read as nbprof's own file: it lacks {column}.")
