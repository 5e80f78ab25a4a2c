"""The site: `make docs` builds it from the Markdown of the repository, offline and searchable.

The source directory is the repository itself, so that README, ARCHITECTURE and the pages of
`docs/` link each other on the site as they do in a checkout. `docs/site/` holds what only the site
has: its first page, with the order of the side bar, and the reference of the Python API.
"""

from __future__ import annotations

project = "opennandlab"
author = "the opennandlab authors"
project_copyright = "the opennandlab authors"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_design",
]
root_doc = "docs/site/index"
include_patterns = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "benches/*.md",
    "docs/**",
    "examples/**.md",
]
# Pruned, so that nothing looks into them.
exclude_patterns = [".*", "crates", "dist", "docs/_build", "python", "target", "tests", "tools"]

myst_enable_extensions = ["colon_fence"]
# Links to headings, as the repository's host makes them.
myst_heading_anchors = 4
# One backtick in a docstring is code, as it is in Markdown.
default_role = "code"
# The console blocks show what programs print, boxes of tables included: no lexer knows them all.
suppress_warnings = ["misc.highlighting_failure"]

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = ["Source"]
add_module_names = False
python_display_short_literal_types = True

html_theme = "furo"
html_title = "opennandlab"
# The first page of the site is not at its top: a page there leads to it.
html_extra_path = ["site/top"]
html_static_path = ["site/static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
