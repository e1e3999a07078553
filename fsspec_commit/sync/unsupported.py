"""Refusals of calls on a task's files, with what the calling library can do instead."""

import inspect
import io
import sys

_WRITE_ONCE = "files of a task are write-once, on every store"
_LOCAL_FILE = "write a local file, and it is uploaded: with task.local_file({name!r}) as path"
# Libraries that seek in what they write, by the name of their package.
_SEEKING = {
    "fiona": "Fiona",
    "h5netcdf": "h5netcdf",
    "h5py": "h5py",
    "netCDF4": "netCDF4",
    "openpyxl": "openpyxl",
    "osgeo": "GDAL",
    "pyogrio": "pyogrio",
    "rasterio": "Rasterio",
    "rioxarray": "rioxarray",
    "sqlite3": "SQLite",
    "tables": "PyTables",
    "tifffile": "tifffile",
    "zarr": "Zarr",
}
_DUCKDB_RENAMES = "tmp_"


def unsupported(what: str, name: str = "a.h5") -> io.UnsupportedOperation:
    """The refusal of a call, which names the calling library if it is known.

    Args:
        what: The call, as its caller knows it.
        name: The name of the file.
    """
    return io.UnsupportedOperation(f"{what}: {_WRITE_ONCE}; {_instead(name)}")


def unsupported_rename(source: object) -> io.UnsupportedOperation:
    """The refusal of a rename: DuckDB first writes to another name, if a name is taken."""
    last = str(source).rpartition("/")[2]
    if last.startswith(_DUCKDB_RENAMES) and "duckdb" in sys.modules:
        message = f"rename: {_WRITE_ONCE}; DuckDB: add USE_TMP_FILE false to COPY's options"
        return io.UnsupportedOperation(message)
    return unsupported("rename", last)


def _instead(name: str) -> str:
    instead = _LOCAL_FILE.format(name=name)
    library = _library()
    if library is not None:
        return f"{library} seeks in what it writes: {instead}"
    return instead


def _library() -> str | None:
    """The library nearest to the call; one in C, such as DuckDB, cannot be seen."""
    frame = inspect.currentframe()
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package in _SEEKING:
            return _SEEKING[package]
        frame = frame.f_back
    return None
