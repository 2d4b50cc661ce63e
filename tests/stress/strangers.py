"""The command line and the explorer, as a stranger may use them."""

from __future__ import annotations

import json
import os
from contextlib import redirect_stderr, redirect_stdout
from functools import cache, partial
from html.parser import HTMLParser
from io import BytesIO, TextIOWrapper
from pathlib import Path

import numpy as np
import torch
from helpers import tiny_map
from sample_files import FILES
from torch_geometric.data import Data

from bcm_pyg import CognitiveMap, planning_graph
from bcm_pyg.__main__ import main
from bcm_pyg.export import to_geojson

from .files import refused, spoiled_graph
from .folders import damaged_folder, whole_atlas

#: Of names, titles and units.
PIECES = [
    *('</script>', '<script>alert(1)</script>', '<!--', '-->', ']]>', '<b>'),
    *('"', "'", '\\', '\\u003c', '&lt;', '&', '\0', '\n', '\r\n', '\u2028'),
    *('\u202e', '\ud800', '\U0001f600', '{{', '}}', '%s', '{0}', '$', '`'),
    *('__proto__', 'constructor', '-', '--json', '', ' ', 'a', '0', '-1', 'é'),
]


def of_command(rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """The command line on damaged files: an exit code, and one line."""
    if not (folder / 'named').exists() or rng.random() < 0.01:
        _, failures = of_names(rng, folder)
        if failures:
            return 1, failures
    if rng.random() < 0.6:
        path = whole_atlas(rng, folder)
        if rng.random() < 0.3:
            path = folder / 'named'
        elif rng.random() < 0.7:
            path = damaged_folder(path, rng)
        command = _question(rng, folder, str(path))
    else:
        name = str(rng.choice([n for n in FILES if not n.endswith('.scen')]))
        path = folder / name
        path.write_bytes(spoiled_graph(name, FILES[name][0], rng))
        out = _output(rng, folder)
        command = ['learn', str(path), '--budget', '0', '--out', out]
        if rng.random() < 0.2:
            command += [['--seed', '-1'], ['--encoder', 'x']][rng.integers(2)]
    code: int | None = None
    encoding = str(rng.choice(['utf-8', 'ascii']))
    shown, errors = (TextIOWrapper(BytesIO(), encoding) for _ in range(2))

    def run() -> None:
        nonlocal code
        with redirect_stdout(shown), redirect_stderr(errors):
            code = main(command)

    count, failures = refused(run, command)
    said, told = _text(shown), _text(errors)
    if code not in (None, 0, 1, 2):
        failures.append(f'{command} ended with {code}')
    if code == 2 and len(told.splitlines()) != 1:
        failures.append(f'{command} says {told!r}')
    if code == 2 and said:
        failures.append(f'{command} prints {said!r:.80} and fails')
    if not (said + told).replace('\n', '').isprintable():
        failures.append(f'{command} prints {said + told!r:.80}')
    if code in (0, 1) and command[-1] == '--json':
        json.loads(said)
    return count, failures


def _text(stream: TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def _question(rng: np.random.Generator, folder: Path, path: str) -> list[str]:
    """One of the verbs that ask a map."""
    known = ['n1', '7', '0', '3,0.5', 'last one', 'a']
    name = [str(rng.choice(known)), hostile_name(rng)]
    ends = [name[int(rng.random() < 0.3)] for _ in range(2)]
    out = _output(rng, folder)
    number = str(rng.choice(['0', '2', '-1', 'x', '1e3']))
    questions = [
        ['info', path],
        ['route', path, *ends],
        ['route', path, *ends, '--geojson', out],
        ['evaluate', path, '--queries', number],
        ['explore', path, '--out', out],
        ['route', path, *ends, '--plot', out],
    ]
    # A picture takes a second.
    command = questions[rng.integers(5 + (rng.random() < 0.1))]
    return [*command, '--json'] if rng.random() < 0.3 else command


def _output(rng: np.random.Generator, folder: Path) -> str:
    """Where to write to, sensible or not."""
    pipe = folder / 'pipe'
    if not pipe.exists():
        os.mkfifo(pipe)
    (folder / 'file').touch()
    places = ['out', 'out', 'file', 'none/out', '', '.', 'pipe', 'x' * 300]
    return str(folder / places[rng.integers(len(places))])


def hostile_name(rng: np.random.Generator) -> str:
    return ''.join(rng.choice(PIECES, size=rng.integers(1, 4)))


def of_names(rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """Hostile names: kept as they are, and never markup of a page."""
    names = list({hostile_name(rng): None for _ in range(7)})
    run = partial(_name_all, names, rng, folder)
    return refused(run, names, is_sound=True)


def _name_all(names: list[str], rng: np.random.Generator, folder: Path) -> None:
    size = len(names) + 2
    data = _ring(size)
    data.node_id = [*names, 'last one', 7]
    atlas = CognitiveMap(data, tiny_map(data))
    atlas.save(folder / 'named')
    atlas = CognitiveMap.load(folder / 'named')
    assert atlas.names == data.node_id, 'other names'
    for name in names:
        route = atlas.route(name, 7)
        assert route.nodes[0] == name and route.nodes[-1] == 7
    found = to_geojson(atlas.routes(names, 7), atlas.data, folder / 'geo')
    assert json.loads((folder / 'geo').read_text()) == found
    starts = [one['properties']['start'] for one in found['features']]
    assert starts == names, 'other names in GeoJSON'
    page = folder / 'page.html'
    atlas.explore(page, title=hostile_name(rng), unit=hostile_name(rng))
    assert _tags(page.read_text()) == _plain_tags(folder), 'markup in a page'


@cache
def _plain_tags(folder: Path) -> list[str]:
    """The tags of a page whose names are plain."""
    data, page = _ring(9), folder / 'plain.html'
    CognitiveMap(data, tiny_map(data)).explore(page, title='a', unit='b')
    return _tags(page.read_text())


def _ring(size: int) -> Data:
    node = torch.arange(size)
    ends = torch.stack([node, node.roll(1)])
    return planning_graph(
        Data(
            pos=torch.rand(size, 2),
            edge_index=torch.cat([ends, ends.flip(0)], 1),
            edge_cost=torch.ones(2 * size),
        )
    )


def _tags(page: str) -> list[str]:
    """All tags of a page, with the names of their attributes."""
    found: list[str] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list) -> None:
            found.append(' '.join([tag, *(name for name, _ in attrs)]))

        def handle_endtag(self, tag: str) -> None:
            found.append(f'/{tag}')

        def handle_comment(self, data: str) -> None:
            found.append('comment')

    Tags().feed(page)
    return found
