"""The site: `make docs` builds it from the Markdown of the repository, offline and searchable.

The source directory is the repository itself, so that README, ARCHITECTURE and the pages of
`docs/` link each other on the site as they do in a checkout. `docs/site/` holds what only the site
has: its first page, with the order of the side bar, and the reference of the Python API.
"""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx import addnodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

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
html_js_files = ["site.js"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
# Output and comments in both keep a contrast of 4.5 to their ground.
pygments_style = "default"
pygments_dark_style = "github-dark"


def setup(app: Sphinx) -> None:
    """Let the search show excerpts when the site is read from a folder."""
    app.connect("html-page-context", _search_page)
    app.connect("build-finished", _write_excerpts)


def _search_page(app: Sphinx, name: str, *_: object) -> None:
    """Give the search page, and no other, what it needs for excerpts."""
    if name == "search":
        app.add_js_file("excerpts.js")
        app.add_js_file("excerpts-of-file.js")


def _write_excerpts(app: Sphinx, failure: Exception | None) -> None:
    """Write the text of all pages into one script, since a page of a folder cannot read others."""
    if failure is None and app.builder.name == "html":
        texts = {
            name: f'<div role="main">{_text(app.env.get_doctree(name))}</div>'
            for name in sorted(app.env.found_docs)
        }
        script = f"const EXCERPTS = {json.dumps(texts, ensure_ascii=False)};\n"
        Path(app.outdir, "_static", "excerpts.js").write_text(script, encoding="utf-8")


def _text(node: nodes.Node) -> str:
    """Return the words of a node as HTML in which sections are the only elements."""
    if isinstance(node, nodes.Text):
        return html.escape(node, quote=False)
    if isinstance(node, nodes.comment | nodes.raw | addnodes.toctree):
        return ""
    between = "" if isinstance(node, nodes.TextElement) else "\n"
    inner = between.join(filter(None, map(_text, node.children)))
    # A heading can have several names; results of the search link to one of them.
    for name in node["ids"] if isinstance(node, nodes.section) else ():
        inner = f'<div id="{name}">{inner}</div>'
    return inner
