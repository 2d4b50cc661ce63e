"""Flags of the scripts. Light: ``--help`` does not wait for torch."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from benchmarks.lib.methods import MAPS

QUICK_SIDE = 10
QUICK_PAIRS = 50


def flags(description: str | None) -> argparse.ArgumentParser:
    """The flags that every benchmark has."""
    out = argparse.ArgumentParser(
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    out.add_argument('--seeds', type=int, nargs='+', default=[42])
    out.add_argument('--pairs', type=_pairs, default=1000, help='queries')
    out.add_argument(
        '--budget', type=_budget, default=1.0, help='factor on all trainings'
    )
    out.add_argument(
        '--quick', action='store_true', help='small and short, for a look'
    )
    return out


def _pairs(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f'at least 1 is needed (got {number})')
    return number


def _budget(text: str) -> float:
    if not 0 < (factor := float(text)) < float('inf'):
        raise argparse.ArgumentTypeError(f'must be positive (got {factor})')
    return factor


def paper_flags(
    description: str | None, **choices: Iterable[Any]
) -> argparse.ArgumentParser:
    """Those, and what the paper's tables and figures can be cut down by.

    Each of the choices, such as :obj:`costs`, is a flag, by default with all.
    """
    out = flags(description)
    out.add_argument(
        '--cached-only',
        action='store_true',
        help='leave out rows whose map is not in the cache',
    )
    choices = {'targets': MAPS, **choices}
    for name, values in choices.items():
        values = [*values]
        out.add_argument(
            f'--{name}',
            type=type(values[0]),
            nargs='+',
            choices=values,
            default=values,
        )
    return out


def part_flags(description: str | None, *parts: str) -> argparse.ArgumentParser:
    """Those, and one to choose each part of a script."""
    out = flags(description)
    for part in parts:
        out.add_argument(f'--{part}', action='store_true')
    return out


def run_parts(
    flags: argparse.ArgumentParser,
    given: Sequence[str] | None,
    **parts: Callable[[argparse.Namespace], None],
) -> None:
    """Runs the parts that are chosen, in their order."""
    args = parse(flags, given)
    chosen = [run for part, run in parts.items() if getattr(args, part)]
    if not chosen:
        flags.error(f'choose one of --{", --".join(parts)}')
    for run in chosen:
        run(args)


def parse(
    flags: argparse.ArgumentParser, given: Sequence[str] | None = None
) -> argparse.Namespace:
    """The flags as given, with what ``--quick`` cuts down."""
    args = flags.parse_args(given)
    if args.quick:
        args.pairs = min(args.pairs, QUICK_PAIRS)
        args.seeds = args.seeds[:1]
    return args
