"""Every method of the comparison: labels, colours, and how it is built.

Light: a method imports its planner when it is built.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, NamedTuple

YES, NO, NEITHER = '✓', '✗', '-'

#: The regimes of costs of the paper.
REGIMES = ('uniform', 'mild', 'wide')

#: The node encoders of the paper, and a network that sees costs.
ENCODERS = ('one_hot', 'k_hot', 'interaction', 'gnn')

#: Minutes of training by side of a grid, before ``--budget``, on two cores that
#: do nothing else. Uniform costs at side 40 need half.
MINUTES = {20: 2, 30: 5, 40: 10, 60: 12, 80: 15, 100: 15, 200: 20}

#: Milliseconds of a step of the default map, 128 wide, on these (AMD EPYC).
STEP_MS = {
    20: 9.1,
    30: 9.6,
    40: 10.1,
    60: 10.4,
    80: 12.6,
    100: 14.8,
    200: 19.6,
}

#: Steps of the paper's objective for each cell of a grid, before ``--budget``.
PAPER_STEPS = {'uniform': 16, 'mild': 16, 'wide': 32}


def steps_in(minutes: float, step_ms: float) -> int:
    """How many steps of that length there are in that time."""
    return round(6e4 * minutes / step_ms)


def map_steps(targets: str, side: int, costs: str, budget: float = 1.0) -> int:
    """Steps of a map of the tables, as many however busy the machine is."""
    if targets == 'paper':
        return round(PAPER_STEPS[costs] * side**2 * budget)
    minutes = MINUTES[side] * budget
    if (costs, side) == ('uniform', 40):
        minutes /= 2
    return steps_in(minutes, STEP_MS[side])


class Method(NamedTuple):
    """A planner with the three properties of the paper's Table 1."""

    label: str
    reuse: str
    weighted: str
    sublinear: str
    color: str
    planner: str | None = None
    arguments: dict[str, Any] = {}
    package: str | None = None

    def is_installed(self) -> bool:
        """Whether what it needs beside our own dependencies is there."""
        return self.package is None or find_spec(self.package) is not None

    def build(self, data: Any, seed: int) -> Any:
        """The planner of a graph."""
        from bcm_pyg import baselines

        assert self.planner is not None
        arguments = dict(self.arguments)
        if self.planner == 'CML':
            arguments['seed'] = seed
        return getattr(baselines, self.planner)(data, **arguments)


#: All that are built, not trained by us.
BASELINES = {
    'dijkstra': Method(
        'Dijkstra (exact)', NO, YES, NEITHER, '#000000', 'Dijkstra'
    ),
    'apsp': Method('APSP (exact)', YES, YES, NO, '#000000', 'APSP'),
    'cch': Method(
        'CCH, on disk (exact)',
        YES,
        YES,
        NO,
        '#8c564b',
        'CCH',
        package='routingkit_cch',
    ),
    'cpd': Method('CPD (exact)', YES, YES, NO, '#bcbd22', 'CPD'),
    'cml': Method(
        'CML',
        YES,
        YES,
        NO,
        '#cc79a7',
        'CML',
        {'weighted': True, 'progress': True},
    ),
    'apf': Method('APF', NO, NO, NEITHER, '#6a3d9a', 'APF'),
    'eigen': Method('EigenAgent', YES, NO, NO, '#0072b2', 'EigenAgent'),
    'eigen_inverse': Method(
        'EigenAgent, inverse costs',
        YES,
        YES,
        NO,
        '#56b4e9',
        'EigenAgent',
        {'weights': 'inverse'},
    ),
    'eigen_rbf': Method(
        'EigenAgent, RBF of costs',
        YES,
        YES,
        NO,
        '#7f9fd0',
        'EigenAgent',
        {'weights': 'rbf'},
    ),
}

#: Our maps by what they are trained on, the paper's objective first.
MAPS = {
    'paper': Method("BCM, the paper's objective", YES, YES, YES, '#e69f00'),
    'sweeps': Method(
        'BCM, our default (self-supervised)', YES, YES, YES, '#d55e00'
    ),
    'exact': Method(
        'BCM, exact targets (supervised)', YES, YES, YES, '#009e73'
    ),
}

#: Both, as rows of results call them.
METHODS = {**BASELINES, **{f'bcm_{kind}': MAPS[kind] for kind in MAPS}}
