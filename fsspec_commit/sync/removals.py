"""Which names a call removes: a name, those in a directory, or those that fit a pattern."""

from collections.abc import Collection, Iterator

from fsspec_commit.sync.listed_names import ListedNames, rooted


def names_in(
    directory: str, names: Collection[str], *, recursive: bool, maxdepth: int | None
) -> list[str]:
    """The names in a directory, as many levels below it as *maxdepth* says.

    Raises:
        FileNotFoundError: There are none, and it is not the root.
        IsADirectoryError: The call is not *recursive*.
    """
    bare = rooted(directory)
    prefix = f"{bare}/" if bare else ""
    below = [name for name in names if name.startswith(prefix)]
    if bare and not below:
        raise FileNotFoundError(directory)
    if not recursive:
        raise IsADirectoryError(directory)
    return [name for name in below if _is_within(maxdepth, name[len(prefix) :].count("/") + 1)]


def names_like(
    pattern: str, names: Collection[str], *, recursive: bool, maxdepth: int | None
) -> list[str]:
    """The names that fit a pattern of fsspec's, or are in a directory that does.

    Raises:
        FileNotFoundError: Nothing fits.
        IsADirectoryError: A directory fits, with names that do not, and the call is not
            *recursive*.
    """
    fitting = set(ListedNames(lambda _: dict.fromkeys(names, 0)).glob(pattern, maxdepth=maxdepth))
    if not fitting:
        raise FileNotFoundError(pattern)
    found = []
    for name in names:
        if name in fitting:
            found.append(name)
            continue
        depth, directory = next(_fitting_above(name, fitting), (0, None))
        if directory is None:
            continue
        if not recursive:
            raise IsADirectoryError(directory)
        # The level of what fits the pattern is the first one.
        if _is_within(maxdepth, depth + 1):
            found.append(name)
    return found


def _fitting_above(name: str, fitting: Collection[str]) -> Iterator[tuple[int, str]]:
    """The directories of *name* that fit, from the nearest, and how far above it they are."""
    directory, depth = name, 0
    while "/" in directory:
        directory, depth = directory.rpartition("/")[0], depth + 1
        if directory in fitting:
            yield depth, directory


def _is_within(maxdepth: int | None, depth: int) -> bool:
    return maxdepth is None or depth <= maxdepth
