"""How `make docs` builds the site."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import bcm_pyg

project = 'bcm_pyg'
author = copyright = 'The bcm_pyg developers'
version = release = bcm_pyg.__version__

extensions = [
    'sphinx.ext.autodoc',
    'sphinx.ext.autosummary',
    'sphinx.ext.napoleon',
    'sphinx.ext.mathjax',
    'myst_parser',
]
html_theme = 'furo'
html_title = f'bcm_pyg {version}'
html_copy_source = False
myst_heading_anchors = 3

autodoc_default_options = {
    'members': True,
    'member-order': 'bysource',
    'special-members': '__call__',
    'exclude-members': 'extra_repr',
}
autodoc_typehints_format = 'short'
autosummary_generate = False
napoleon_custom_sections = ['Shapes']
napoleon_use_ivar = True
add_module_names = False
python_maximum_signature_line_length = 80
toc_object_entries_show_parents = 'hide'
# Links to public names must lead somewhere; others are set as plain code.
nitpicky = True
public = r'bcm_pyg\.\w+(\.\w+|\.[A-Z]\w*\.\w+)?'
nitpick_ignore_regex = [('py:.*', rf'(?s)(?!{public}$).*')]


def skip_member(
    app: Any, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """Leaves out the fields of named tuples: their class explains them."""
    text = getattr(obj, '__doc__', None) or ''
    return True if text.startswith('Alias for field number') else None


def on_site(app: Any, name: str, source: list[str]) -> None:
    """Leads links that work on a code host to the pages of the site."""
    text = source[0].replace('](../benchmarks/pages/', '](pages/')
    source[0] = text.replace('](../benchmarks/README.md)', '](benchmarks.md)')


def on_included(app: Any, path: Any, parent: str, source: list[str]) -> None:
    """The same for pages of the benchmarks, which are included."""
    source[0] = source[0].replace('](../README.md)', '](../benchmarks.md)')


def find_home(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Leads links to `bcm_pyg.Planner` to where it is described in full."""
    target = node.get('reftarget', '')
    name, *rest = target.removeprefix('bcm_pyg.').split('.')
    if node.get('refdomain') != 'py' or name not in bcm_pyg.__all__:
        return None
    module = getattr(bcm_pyg, name).__module__.split('.')[1]
    home = '.'.join(['bcm_pyg', module, name, *rest])
    return env.domains.python_domain.resolve_xref(
        env, node['refdoc'], app.builder, node['reftype'], home, node, content
    )


def write_explorers(app: Any, error: Exception | None) -> None:
    """Puts the explorers beside the page that shows them."""
    if error is None and app.builder.format == 'html':
        sys.path.insert(0, str(Path(__file__).parent))
        from explorers import write_pages

        write_pages(Path(app.outdir) / 'explorers')


def setup(app: Any) -> None:
    """Is called by Sphinx."""
    app.connect('source-read', on_site)
    app.connect('include-read', on_included)
    app.connect('autodoc-skip-member', skip_member)
    app.connect('missing-reference', find_home)
    app.connect('build-finished', write_explorers)
