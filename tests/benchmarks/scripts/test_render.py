"""Pages name tables, scripts and files that exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.scripts.render import FILES, MARK, TABLES, render

ROOT = Path(__file__).parents[3]
BENCHMARKS = ROOT / 'benchmarks'
PAGES = [path for path in FILES if BENCHMARKS in path.parents]
SCRIPTS = {path.stem for path in (BENCHMARKS / 'scripts').glob('*.py')}


def text_of(path: Path) -> str:
    return path.read_text()


def test_a_table_is_replaced_between_its_marks():
    text = 'a\n<!-- table: x -->\nold\n<!-- end -->\nb <!-- end -->\n'
    assert render(text, {'x': lambda: 'new'}) == text.replace('old', 'new')
    with pytest.raises(KeyError, match='x'):
        render(text, {})


def test_every_table_is_shown():
    text = ''.join(map(text_of, FILES))
    shown = {found[2] for found in MARK.finditer(text)}
    assert shown == set(TABLES)


def test_the_first_page_is_short_and_leads_to_the_others():
    text = text_of(BENCHMARKS / 'README.md')
    assert len(text.splitlines()) <= 120
    for path in PAGES[1:]:
        assert f'](pages/{path.name})' in text
    assert SCRIPTS - {'__init__', 'render'} <= set(re.findall(r'`(\w+)`', text))


@pytest.mark.parametrize('path', PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    links = re.findall(r'\]\(([^)#]+)(?:#([\w-]+))?\)', text_of(path))
    for link, anchor in links:
        there = path.parent / link
        assert there.exists(), link
        heads = re.findall(r'^#+ (.*)$', text_of(there), re.M) if anchor else []
        names = [re.sub(r'[^\w -]', '', head).lower() for head in heads]
        assert not anchor or anchor in [n.replace(' ', '-') for n in names]


def commands() -> list[tuple[str, str]]:
    """Script and flags of every command of the pages."""
    pattern = r'python -m\s+benchmarks\.scripts\.(\w+)([^`]*)`'
    found = re.findall(pattern, ''.join(map(text_of, PAGES)))
    return sorted({(name, ' '.join(rest.split())) for name, rest in found})


def test_commands_name_scripts_and_flags_that_exist():
    assert len({name for name, _ in commands()}) >= 14
    for name in {name for name, _ in commands()}:
        shown = subprocess.run(
            [sys.executable, '-m', f'benchmarks.scripts.{name}', '--help'],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for script, rest in commands():
            for flag in re.findall(r'--[\w-]+', rest) if script == name else []:
                assert f'{flag} ' in shown or f'{flag}\n' in shown
