"""How Sphinx builds these pages: Markdown, the docstrings, and every broken reference an error."""

import importlib.metadata

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
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = f"fsspec-commit {release}"

myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3

napoleon_google_docstring = True
napoleon_numpy_docstring = False

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"

# Copy the code, not the prompt in front of it.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# A reference of ours that leads nowhere fails the build. Other libraries have no page here, and the
# build looks nothing up on the network, so their names are left as plain text.
nitpicky = True
STANDARD = "_io|asyncio|collections|contextlib|datetime|enum|io|os|pathlib|types|typing"
OTHERS = "fsspec|hypothesis|msgspec|pyarrow|pa|ds|pandas|pyspark|pytest|rich|typer|upath"
nitpick_ignore_regex = [
    (r"py:.*", rf"({STANDARD}|{OTHERS})(\..*)?"),
    # Short names in annotations that are imported for the type checker only.
    (r"py:class", r"(AbstractFileSystem|Callback|Any|Self|UPath|Unpack)"),
]
