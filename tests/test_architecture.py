"""The page on the architecture shows the package as it is."""

import re
from itertools import pairwise
from pathlib import Path

from test_layers import HEIGHT

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / 'docs' / 'architecture.md').read_text()
DRAWING = PAGE.split('```text\n')[1].split('```')[0]


def test_named_files_exist():
    named = re.findall(r'`((?:bcm_pyg|tests)/[^`]*)`', PAGE)
    assert len(named) > 20
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_drawing_has_all_rooms():
    """What is drawn higher is a higher layer."""
    rooms = [line[:25] for line in DRAWING.splitlines()]  # beside: comments
    found = [re.findall(r'[a-z_]+', room) for room in rooms]
    drawn = [names for names in found if names]
    heights = [[HEIGHT[name] for name in names] for names in drawn]
    assert all(min(one) > max(two) for one, two in pairwise(heights))
    assert set().union(*drawn) == HEIGHT.keys() - {'errors', 'typing'}


def test_page_is_short():
    assert len(PAGE.splitlines()) <= 80
