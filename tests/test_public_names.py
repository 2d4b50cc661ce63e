"""What users, examples and outside checks may rely on."""

import importlib
import pkgutil

import pytest

import bcm_pyg

PUBLIC = {
    'bcm_pyg': [
        'BCM',
        'BCMError',
        'FitConfig',
        'Planner',
        'evaluate',
        'fit',
        'planning_graph',
    ],
    'bcm_pyg.datasets': [
        'MovingAIMap',
        'NpzGraph',
        'OSMnxStreets',
        'ToyGameMap',
        'ToyStreets',
        'sample_queries',
        'weighted_grid',
    ],
    'bcm_pyg.transforms': ['SimplifyGraph', 'ToPlanningGraph'],
    'bcm_pyg.nn': [
        'ContinuousInteractionEncoder',
        'GNNEncoder',
        'InteractionEncoder',
        'KHotEncoder',
        'OneHotEncoder',
        'check_encoder',
        'export_scorer',
    ],
    'bcm_pyg.graph': [
        'from_arrays',
        'from_networkx',
        'from_occupancy',
        'from_osmnx',
        'labels_of',
        'largest_component',
        'nodes_from_labels',
        'planning_graph',
        'read_movingai',
        'read_npz',
        'read_osm',
        'read_scenarios',
        'route_points',
        'simplify_graph',
        'turn_graph',
    ],
    'bcm_pyg.geo': ['local_metres', 'nearest_nodes'],
    'bcm_pyg.explorer': ['write_explorer'],
    'bcm_pyg.export': ['to_geodataframe', 'to_geojson'],
    'bcm_pyg.planning': [
        'Backtracking',
        'BasePlanner',
        'Beam',
        'BestFirst',
        'Corridor',
        'Greedy',
        'Lookahead',
        'Route',
        'Scorer',
        'VisitedGreedy',
        'plan_distributed',
        'plan_turns',
    ],
    'bcm_pyg.baselines': [
        'APF',
        'APSP',
        'CCH',
        'CML',
        'CPD',
        'Dijkstra',
        'EigenAgent',
    ],
    'bcm_pyg.utils': ['scatter_min'],
}
PACKAGES = ['bcm_pyg'] + [
    module.name
    for module in pkgutil.walk_packages(bcm_pyg.__path__, 'bcm_pyg.')
    if module.ispkg
]


@pytest.mark.parametrize(
    ('module', 'name'),
    [(module, name) for module, names in PUBLIC.items() for name in names],
)
def test_public_names(module, name):
    imported = importlib.import_module(module)
    assert callable(getattr(imported, name))
    assert name in imported.__all__


@pytest.mark.parametrize('package', PACKAGES)
def test_all_resolves(package):
    module = importlib.import_module(package)
    names = module.__all__
    assert len(names) > 0
    assert [name for name in names if not hasattr(module, name)] == []
    assert [name for name in names if name.startswith('_')] == []
    assert len(set(names)) == len(names)


def test_packages_are_walked():
    modules = {'bcm_pyg.export', 'bcm_pyg.geo'}
    assert set(PACKAGES) >= set(PUBLIC) - modules


def test_one_error_class():
    assert issubclass(bcm_pyg.BCMError, ValueError)
    with pytest.raises(ValueError, match='expected a torch_geometric'):
        bcm_pyg.planning_graph(None)


def test_version():
    major, minor, patch = bcm_pyg.__version__.split('.')
    assert major.isdigit() and minor.isdigit() and patch


def test_plotting() -> None:
    from bcm_pyg.plotting import plot_route

    assert callable(plot_route)
