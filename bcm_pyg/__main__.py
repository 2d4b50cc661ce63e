"""The command line: learns the map of a file, and asks it for routes."""

import argparse
import json
import math
import os
import sys
import warnings
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from bcm_pyg import __version__
from bcm_pyg.errors import BCMError

if TYPE_CHECKING:
    from bcm_pyg import CognitiveMap

EXAMPLES = """\
examples:
  bcm learn streets.graphml --budget 300 --out map
  bcm route map Ayr Deal
  bcm route map Ayr Deal --geojson route.geojson --plot route.png
  bcm evaluate map --json
  bcm info map
  bcm explore map --out explorer.html

exit codes: 0 done, 1 no route, 2 bad input, 130 interrupted
"""


def learn(args: argparse.Namespace) -> int:
    """Learns the map of a graph, and saves it."""
    _check_output(args.out)
    if args.out.exists() and not args.out.is_dir():
        raise BCMError(f'{args.out} is a file, and a map is a folder')
    from bcm_pyg import CognitiveMap

    try:
        atlas = CognitiveMap.learn(
            args.graph,
            args.budget,
            cost=args.cost,
            encoder=args.encoder,
            simplify=not args.full,
            seed=args.seed,
        )
    except BCMError as error:
        if args.cost is None and 'cost=' in str(error):
            raise BCMError(f'{error} (here: --cost NAME)') from None
        raise
    atlas.save(args.out)  # after Ctrl-C, what was learned until then
    facts = {'out': str(args.out), **_facts(atlas)}
    _show(args, facts, f'{atlas} is in {args.out}')
    return 130 if atlas.history.interrupted else 0


def route(args: argparse.Namespace) -> int:
    """Plans a route."""
    for file in (args.geojson, args.plot):
        if file is not None:
            _check_output(file)
    atlas = _load(args)
    found = atlas.route(_name(atlas, args.start), _name(atlas, args.goal))
    facts = {
        'start': found.start,
        'goal': found.goal,
        'success': found.success,
        'cost': found.cost,
        'lower_bound': found.lower_bound,
        'hops': found.hops,
        'nodes': found.nodes,
    }
    ends = f'{_shown(found.start)} -> {_shown(found.goal)}'
    if not found.success:
        _show(args, facts, f'{ends}: there is no route')
        return 1
    if args.geojson is not None:
        atlas.to_geojson(found, args.geojson)
    if args.plot is not None:
        _plot(atlas, found, args.plot)
    text = f'{ends}: cost {found.cost:.6g}, {found.hops} hops'
    _show(args, facts, '\n'.join([text, *map(_shown, found.nodes)]))
    return 0


def evaluate(args: argparse.Namespace) -> int:
    """Compares routes with exact search."""
    report = _load(args).evaluate(args.queries, seed=args.seed)
    _show(args, report.as_dict(), str(report))
    return 0


def info(args: argparse.Namespace) -> int:
    """Says what a map holds."""
    facts = _facts(_load(args))
    width = max(map(len, facts))
    lines = [
        f'{name:{width}}  '
        + (f'{value:.6g}' if isinstance(value, float) else str(value))
        for name, value in facts.items()
    ]
    _show(args, facts, '\n'.join(lines))
    return 0


def explore(args: argparse.Namespace) -> int:
    """Writes a page to explore a map in a browser."""
    _check_output(args.out)
    _load(args).explore(args.out)
    _show(args, {'out': str(args.out)}, f'open {args.out} in a browser')
    return 0


# --- parts -------------------------------------------------------------------


def _load(args: argparse.Namespace) -> 'CognitiveMap':
    from bcm_pyg import CognitiveMap

    return CognitiveMap.load(args.map)


def _name(atlas: 'CognitiveMap', text: str) -> Any:
    """The name that is written like this: 7 may be one, or (3, 4)."""
    names = atlas.names
    if text in names:
        return text
    written = {_written(name): name for name in reversed(names)}
    bare = text.translate(str.maketrans('', '', '()"\' '))
    return written.get(bare, text)  # unknown ones are refused later


def _written(name: Any) -> str:
    """A name as it may be typed: 7, or 3,4 for (3, 4)."""
    return ','.join(map(_written, name)) if type(name) is tuple else str(name)


def _facts(atlas: 'CognitiveMap') -> dict[str, Any]:
    """What is worth knowing of a map."""
    model, training = atlas.model, {}
    facts: dict[str, Any] = {
        'nodes': int(atlas.data.num_nodes),
        'edges': int(atlas.data.num_edges),
        'first_names': [str(name) for name in atlas.names[:3]],
    }
    if atlas.simplified is not None:
        facts['nodes_simplified'] = int(atlas.simplified.data.num_nodes)
    if model is not None:
        training = model.info.training
        parts = getattr(model.encoder, 'encoders', [model.encoder])
        facts['encoder'] = ' + '.join(type(part).__name__ for part in parts)
        facts['parameters'] = model.num_parameters()
        facts['bytes'] = model.storage_bytes()
    for name in ('seconds', 'steps'):
        if training.get(name) is not None:
            facts[name] = training[name]
    return facts


def _plot(atlas: 'CognitiveMap', found: Any, file: Path) -> None:
    try:
        import matplotlib
    except ImportError:
        raise BCMError(
            "--plot needs matplotlib: run 'pip install bcm_pyg[plot]'"
        ) from None
    from bcm_pyg.utils import replace_file

    matplotlib.use('agg')  # there may be no screen
    picture, kind = BytesIO(), file.suffix.lstrip('.').lower() or 'png'
    figure: Any = atlas.plot(found).figure
    try:
        figure.savefig(picture, format=kind, dpi=150)
    except ValueError as error:  # says which formats there are
        raise BCMError(f'--plot {file}: {error}') from None
    replace_file(file, picture.getvalue())


def _check_output(path: Path) -> None:
    """Refuses where nothing could be written, before the work is done."""
    if not path.parent.is_dir():
        raise BCMError(f'there is no folder {path.parent} to write {path} in')
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise BCMError(f'{path} cannot be written')


def _show(args: argparse.Namespace, facts: dict[str, Any], text: str) -> None:
    """Prints for people, or for scripts."""
    lines = [json.dumps(_plain(facts))] if args.json else text.split('\n')
    print('\n'.join(map(_shown, lines)))


def _shown(value: Any) -> str:
    """On one line, what a terminal would obey or cannot show as escapes."""
    text = ''.join(
        one if one.isprintable() else one.encode('unicode_escape').decode()
        for one in str(value)
    )
    encoding = getattr(sys.stdout, 'encoding', None) or 'utf-8'
    return text.encode(encoding, 'backslashreplace').decode(encoding)


def _plain(value: Any) -> Any:
    """What JSON can hold; it has no infinite numbers."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    known = isinstance(value, (str, int, float, bool, type(None)))
    return value if known else str(value)


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    """A warning in one line, without the code that it is from."""
    text = ' '.join(str(message).split())
    print(f'bcm: warning: {_shown(text)}', file=sys.stderr)


class _Parser(argparse.ArgumentParser):
    """A parser that raises instead of leaving the process."""

    def error(self, message: str) -> NoReturn:
        """Says what is wrong, in one line."""
        raise BCMError(f"{message} (see '{self.prog} --help')")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog='bcm',
        description='Learn the map of a graph once, then ask it for routes.',
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--version', action='version', version=__version__)
    verbs = parser.add_subparsers(
        metavar='command', required=True, dest='command'
    )

    def add(run: Any, *examples: str) -> argparse.ArgumentParser:
        out = verbs.add_parser(
            run.__name__,
            help=run.__doc__,
            description=run.__doc__,
            epilog='\n  '.join(('examples:', *examples)),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        out.set_defaults(run=run)
        if run is not learn:
            out.add_argument('map', type=Path, help='folder of a learned map')
        out.add_argument(
            '--json', action='store_true', help='print JSON, for scripts'
        )
        return out

    verb = add(
        learn,
        'bcm learn streets.graphml --budget 300 --out map',
        'bcm learn streets.graphml --cost travel_time --out map',
        'bcm learn dungeon.map --out dungeon --seed 7',
    )
    verb.add_argument(
        'graph', type=Path, help='a .graphml, .npz, .map or .osm.pbf file'
    )
    verb.add_argument('--out', type=Path, required=True, help='folder to write')
    verb.add_argument(
        '--budget',
        type=float,
        default=300,
        metavar='SECONDS',
        help='time to train (default: 300)',
    )
    verb.add_argument(
        '--cost',
        metavar='NAME',
        help='edge attribute of a .graphml file that holds the costs',
    )
    verb.add_argument(
        '--encoder',
        metavar='NAME',
        help='name of an encoder (default: interaction, on roads '
        'interaction+node_table; landmark without coordinates)',
    )
    verb.add_argument(
        '--full', action='store_true', help='do not simplify the graph'
    )
    verb.add_argument('--seed', type=int, default=0, help='(default: 0)')

    verb = add(
        route,
        'bcm route map Ayr Deal',
        'bcm route map 3,4 17,2 --plot route.png',
        'bcm route map Ayr Deal --json',
        'bcm route map --json -- -7,2 -3,4',
    )
    verb.add_argument(
        'start',
        help='name of the first node; one that begins with a minus after --',
    )
    verb.add_argument('goal', help='name of the last node')
    verb.add_argument('--geojson', type=Path, metavar='FILE', help='to write')
    verb.add_argument('--plot', type=Path, metavar='FILE', help='to draw')

    verb = add(evaluate, 'bcm evaluate map --queries 200')
    verb.add_argument(
        '--queries', type=int, default=1000, help='to draw (default: 1000)'
    )
    verb.add_argument('--seed', type=int, default=42, help='(default: 42)')

    add(info, 'bcm info map --json')

    verb = add(explore, 'bcm explore map --out explorer.html')
    verb.add_argument('--out', type=Path, required=True, help='page to write')
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command, and returns its exit code."""
    try:
        args = _parser().parse_args(argv)
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            code: int = args.run(args)
        if sys.stdout is not None:  # as of `bcm ... >&-`
            sys.stdout.flush()  # a closed pipe is found out here
        return code
    except BrokenPipeError:  # as of `bcm route ... | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (BCMError, OSError, MemoryError) as error:
        text = ' '.join(str(error).split()) or type(error).__name__
        print(f'bcm: {_shown(text)}', file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print('bcm: interrupted', file=sys.stderr)
        return 130


if __name__ == '__main__':
    sys.exit(main())
