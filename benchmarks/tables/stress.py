"""What the attacks of ``make stress`` found."""

from __future__ import annotations

import json

from benchmarks.lib.results import RESULTS
from benchmarks.tables.markdown import markdown


def stress() -> str:
    """How much each attack tried, and how often something failed."""
    rows = json.loads((RESULTS / 'stress.json').read_text())['rows']
    head = ['attack', 'tried', 'failed', 'seconds', 'commit', 'date']
    return markdown(
        head,
        (
            [
                row['what'],
                f'{row["count"]:,}',
                row['failures'],
                f'{row["seconds"]:,.0f}',
                row['commit'],
                row['date'],
            ]
            for row in rows
        ),
    )


def stress_limits() -> str:
    """Times and memory that are promised, and what was measured."""
    rows = json.loads((RESULTS / 'stress.json').read_text())['limits']
    head = ['limit', 'promised', 'measured', 'commit', 'date']
    return markdown(
        head,
        (
            [
                row['what'],
                f'{row["most"]:,g} {row["unit"]}',
                f'{row["value"]:,.4g} {row["unit"]}',
                row['commit'],
                row['date'],
            ]
            for row in rows
        ),
    )


STRESS_TABLES = {'stress': stress, 'stress_limits': stress_limits}
