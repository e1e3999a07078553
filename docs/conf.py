"""How Sphinx builds these pages: Markdown, the docstrings, and every broken reference an error."""

import importlib.metadata
from typing import Any

project = "fsspec-commit"
author = "the fsspec-commit developers"
copyright = f"2026, {author}"  # noqa: A001  (Sphinx reads this name)
release = importlib.metadata.version(project)
version = release

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
# Tables that tests write, each a part of another page.
exclude_patterns = [
    *("_build", "s3-servers.md", "kept-guarantees.md", "decisions.md"),
    *("crash-table.md", "test-counts.md", "threats.md"),
]

html_theme = "furo"
html_title = f"fsspec-commit {release}"

myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3

napoleon_google_docstring = True
napoleon_numpy_docstring = False

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autoclass_content = "both"

# Copy the code, not the prompt in front of it.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# A reference of ours that leads nowhere fails the build. Other libraries have no page here, and the
# build looks nothing up on the network, so their names are left as plain text.
nitpicky = True
# The type `bytes` beside fields of ours of that name; what is missing is still an error.
suppress_warnings = ["ref.python"]
STANDARD = "_io|asyncio|collections|contextlib|datetime|enum|io|os|pathlib|types|typing"
OTHERS = (
    "distributed|fsspec|hypothesis|msgspec|pyarrow|pa|ds|pandas|pyspark|pytest|rich|typer|upath"
)
nitpick_ignore_regex = [
    (r"py:.*", rf"({STANDARD}|{OTHERS})(\..*)?"),
    # Names of a plain text, where an annotation would say what kind of text is meant.
    (r"py:.*", r"fsspec_commit\.(ids\.Nonce|layout\.StorePath|store\.values\.Token)"),
    # What a writer answers, or a page shows: a type variable has no page.
    (r"py:.*", r"fsspec_commit\.store\.(abilities\.W_co|values\.Shown)"),
    # What a task hands out is an fsspec filesystem, and a block that gives a path: no more is said.
    (r"py:class", r"(AttemptFileSystem|fsspec_commit\.sync\.local_file\.LocalFile)"),
    # Short names in annotations that are imported for the type checker only.
    (
        r"py:class",
        r"(AbstractFileSystem|Callback|Client|DataFrame|SparkSession(\.Builder)?|Any|Self|UPath|UniversalPath|Unpack|ArrowStreamExportable)",
    ),
]


def begin_with_a_comment(_app: Any, what: str, *rest: Any) -> None:
    """Keep Napoleon from taking ``Where it writes: a URL`` for a type and its description.

    Napoleon reads the first line of an attribute's docstring so; an empty comment is such a line.
    """
    if what in {"attribute", "data", "property"}:
        rest[-1][:0] = ["..", ""]


def hide_how_it_is_made(_app: Any, _what: str, name: str, *_rest: Any) -> tuple[str, None] | None:
    """Users get a task from ``Job.task`` or ``Task.from_spec``, and never call the class."""
    return ("", None) if name == "fsspec_commit.Task" else None


def setup(app: Any) -> None:
    """Called by Sphinx; the first hook runs before Napoleon's."""
    app.connect("autodoc-process-docstring", begin_with_a_comment, priority=400)
    app.connect("autodoc-process-signature", hide_how_it_is_made)
