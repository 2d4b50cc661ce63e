"""The page in a real browser, against the planners of the package."""

import numpy as np
import pytest
import torch
from page_twin import page_map
from small_fits import tiny
from torch_geometric.data import Data

from bcm_pyg import BCM, CognitiveMap, Planner, fit, planning_graph
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.explorer import write_explorer
from bcm_pyg.graph import from_occupancy, simplify_graph
from docs.explorers import streets

READOUTS = [
    'greedy',
    'visited_greedy',
    'backtracking',
    'best_first',
    'corridor',
]
NUM_QUERIES = 200


def trained(data: Data, steps: int = 30) -> BCM:
    model = BCM.from_data(data, hidden_channels=64)
    fit(model, data, tiny(steps=steps, validation_queries=0))
    return model


def terrain() -> Data:
    """Cells with a height, as the third axis; uphill costs more."""
    rows, columns = np.mgrid[:14, :18]
    height = torch.from_numpy(4 * np.sin(rows / 3) + 3 * np.cos(columns / 4))
    data = from_occupancy(np.zeros((14, 18), dtype=bool))
    pos = torch.cat([data.coord, height.view(-1, 1)], dim=1).float()
    tail, head = data.edge_index
    up = (pos[head, 2] - pos[tail, 2]).clamp(min=0)
    length = (pos[head] - pos[tail]).norm(dim=1)
    edges = {'edge_index': data.edge_index, 'edge_cost': length + 3 * up}
    return planning_graph(Data(pos=pos, **edges))


@pytest.fixture(scope='module', params=['grid', 'streets', 'terrain'])
def world(request, tmp_path_factory):
    """A page, what is planned on, and its map."""
    torch.manual_seed(0)
    if request.param == 'grid':
        data = core = weighted_grid('ushape', 12, 'wide', 1)
    elif request.param == 'streets':
        data = simplify_graph(streets(8, 1))
        core = data.data
    else:
        data = core = terrain()
    model = trained(core)
    path = tmp_path_factory.mktemp('page') / f'{request.param}.html'
    write_explorer(path, model, data)
    return path, data, model


def test_routes_agree_with_planners(page, world):
    path, data, model = world
    page.open(path)
    full = data if isinstance(data, Data) else data.full
    starts, goals = sample_queries(full, NUM_QUERIES, seed=5)
    ends = starts.tolist(), goals.tolist()
    rounded = page_map(model, data)
    for readout in READOUTS:
        plan = Planner(rounded, data, readout)(starts, goals)
        found = page.run(
            'const [readout, starts, goals] = arguments;'
            'return starts.map((start, query) => {'
            '  const { planner } = explorer.session;'
            '  const { nodes, cost, expansions } ='
            '    planner.route(readout, start, goals[query]);'
            '  return [nodes, cost < Infinity ? cost : -1, expansions];'
            '});',
            readout,
            *ends,
        )
        routes, costs, expansions = zip(*found, strict=True)
        wanted = plan.cost.masked_fill(~plan.success, -1)
        error = (torch.tensor(costs, dtype=torch.float64) - wanted).abs()
        assert float((error / wanted.abs()).max()) < 1e-4, readout
        same = [routes[q] == plan.path(q) for q in range(NUM_QUERIES)]
        assert sum(same) >= 0.99 * NUM_QUERIES, readout
        equal = torch.tensor(expansions) == plan.expansions
        assert int(equal.sum()) >= 0.99 * NUM_QUERIES, readout
    field = page.run(
        'const turns = explorer.session.planner.field(arguments[0]);'
        'let turn = turns.next(); while (!turn.done) turn = turns.next();'
        'return [...turn.value].map((x) => x < Infinity ? x : -1);',
        ends[1][0],
    )
    nodes = torch.arange(full.num_nodes)
    wanted = Planner(rounded, data).distance(nodes, goals[:1].expand_as(nodes))
    known = wanted.isfinite()
    assert ((torch.tensor(field) < 0) == ~known).all()
    error = torch.tensor(field)[known] - wanted[known]
    assert float((error.abs() / wanted[known].clamp(min=1)).max()) < 1e-3
    assert page.errors() == []


def test_closed_edges_agree_with_planners(page, world):
    path, data, model = world
    page.open(path)
    is_full = isinstance(data, Data)
    full = data if is_full else data.full
    rounded = page_map(model, data)
    parts = {'simplified': None if is_full else data, 'readout': 'corridor'}
    atlas = CognitiveMap(full, rounded, **parts)
    starts, goals = sample_queries(full, 60, seed=6)
    # What the routes of some queries use is closed for all.
    used = [atlas.planner(starts[q], goals[q]).path(0)[:2] for q in range(4)]
    known = set(zip(*full.edge_index.tolist(), strict=True))
    both = [*map(tuple, used), *(pair[::-1] for pair in map(tuple, used))]
    names = atlas.names
    edges = [(names[u], names[v]) for u, v in {*both} & known]
    plan = atlas.close(edges).planner(starts, goals)
    found = page.run(
        'const [used, starts, goals] = arguments; const { session } = explorer;'
        'const pairs = new Set(used.map(([a, b]) => session.pairOf(a, b)));'
        'for (const pair of pairs) session.toggle(pair);'
        'return starts.map((start, query) => session.planner.route('
        '  "corridor", start, goals[query]).nodes);',
        used,
        starts.tolist(),
        goals.tolist(),
    )
    same = [found[q] == plan.path(q) for q in range(60)]
    assert sum(same) >= 59
    assert page.errors() == []


@pytest.fixture(scope='module')
def grid_page(page, tmp_path_factory):
    """A grid of 12 x 12 with snapshots, opened anew for each test."""
    torch.manual_seed(0)
    data = weighted_grid('ushape', 12, 'wide', 1)
    early, model = trained(data, 2), trained(data)
    early.cost_scale.copy_(model.cost_scale)
    path = tmp_path_factory.mktemp('page') / 'grid.html'
    snapshots = [('2 steps', early)]
    ends = {'start': 0, 'goal': 143}
    write_explorer(path, model, data, snapshots=snapshots, unit='s', **ends)
    return path


@pytest.fixture
def shown(page, grid_page):
    page.screen(1200, 800)
    page.open(grid_page)
    return page


def test_drag(shown):
    before = shown.run('return explorer.controls.route.cost')
    field = 'explorer.controls.drawing.field.values'
    shown.drag(0, 13, 26, 28)
    assert shown.run('return explorer.session.start') == 28
    assert shown.run('return explorer.controls.route.nodes[0]') == 28
    assert shown.run('return explorer.controls.route.cost') < before
    shown.drag(143, 132)
    assert shown.run('return explorer.session.goal') == 132
    assert shown.run(f'return {field}[132]') == 0
    cost = float(shown.text('#of-route td'))
    assert cost == pytest.approx(
        shown.run('return explorer.controls.route.cost'), rel=1e-2
    )
    exact = shown.run('return explorer.session.exact().cost')
    assert float(shown.text('#of-exact td')) == pytest.approx(exact, rel=1e-2)
    assert '%' in shown.text('#of-route td:nth-of-type(2)')
    assert shown.errors() == []


def test_keyboard(shown):
    keys = pytest.importorskip('selenium.webdriver.common.keys').Keys
    start = shown.driver.find_element('id', 'start')
    start.send_keys(keys.ARROW_RIGHT)
    start.send_keys(keys.ARROW_DOWN)
    shown.settle()
    assert shown.run('return explorer.session.start') == 13
    start.send_keys(keys.ARROW_LEFT * 3)  # no further than the border
    shown.settle()
    assert shown.run('return explorer.session.start') == 12
    assert start.get_attribute('aria-label') == 'start: 12'
    start.send_keys(keys.TAB)
    active = shown.run('return document.activeElement.id')
    assert active == 'goal'
    start.send_keys('x')
    shown.settle()
    assert shown.run('return explorer.session.closed.size') == 1
    name = shown.driver.find_element('id', 'goal-name')
    name.clear()
    name.send_keys('60', keys.ENTER)
    shown.settle()
    assert shown.run('return explorer.session.goal') == 60
    name.clear()
    name.send_keys('nowhere', keys.ENTER)
    assert shown.run(
        'return !document.getElementById("goal-name").validity.valid'
    )
    assert shown.errors() == []


def test_slider_over_training(shown):
    weights = 'return explorer.session.parts.weight3[0]'
    trained_weight = shown.run(weights)
    assert shown.text('#label') == 'trained'
    shown.run(
        'const slider = document.getElementById("map"); slider.value = 0;'
        'slider.dispatchEvent(new Event("input"));'
    )
    shown.wait(f'({weights.removeprefix("return ")}) !== {trained_weight}')
    shown.settle()
    assert shown.text('#label') == '2 steps'
    assert shown.errors() == []


def test_closed_edges(shown):
    one, two = shown.run('return explorer.controls.exact.nodes.slice(4, 6)')
    before = shown.run('return explorer.controls.exact.cost')
    (x0, y0), (x1, y1) = shown.point_of(one), shown.point_of(two)
    for kind in ('Pressed', 'Released'):
        shown.mouse(kind, (x0 + x1) / 2, (y0 + y1) / 2)
    shown.settle()
    assert shown.text('#closed') == '1 edge is closed'
    for name in ('route', 'exact'):
        nodes = shown.run(f'return explorer.controls.{name}.nodes')
        steps = list(zip(nodes, nodes[1:], strict=False))
        assert (one, two) not in [tuple(step) for step in steps]
        assert nodes[-1] == 143
    assert shown.run('return explorer.controls.exact.cost') > before
    shown.driver.find_element('id', 'reopen').click()
    shown.settle()
    assert shown.run('return explorer.controls.exact.cost') == before
    assert shown.errors() == []


def test_step_by_step(shown):
    select = 'const select = document.getElementById("readout");'
    shown.run(
        f'{select} select.value = "visited_greedy";'
        'select.dispatchEvent(new Event("change"));'
    )
    shown.settle()
    shown.driver.find_element('id', 'next').click()
    shown.driver.find_element('id', 'next').click()
    shown.wait(
        'explorer.controls.player.step === 1 && !explorer.controls.asked'
    )
    node = shown.run('return explorer.controls.route.trace[1]')
    assert shown.text('#said').startswith('2 of ')
    assert f'at {node};' in shown.text('#said')
    shown.driver.find_element('id', 'play').click()
    shown.wait('explorer.controls.player.step > 2')
    shown.driver.find_element('id', 'done').click()
    shown.wait('explorer.controls.player.step === -1')
    shown.driver.find_element('id', 'field').click()
    shown.wait('explorer.controls.drawing.field === null')
    assert shown.errors() == []


def test_phone(page, grid_page):
    page.screen(390, 844, touch=True)
    page.open(grid_page)
    boxes = page.run(
        'return ["stage", "panel", "start", "goal"].map((id) => {'
        '  const box = document.getElementById(id).getBoundingClientRect();'
        '  return [box.left, box.top, box.right, box.bottom];'
        '});'
    )
    stage, panel, *markers = boxes
    assert stage[3] <= panel[1] + 1  # one above the other
    assert panel[2] - panel[0] == 390
    for left, top, right, bottom in markers:
        assert left >= 0 and top >= 0 and right <= 390 and bottom <= stage[3]
        assert right - left >= 30
    assert page.run('return document.body.scrollWidth') == 390
    finger = {'x': 0.0, 'y': 0.0}
    for kind, node in (('Start', 0), ('Move', 14), ('Move', 28), ('End', 28)):
        finger['x'], finger['y'] = page.point_of(node)
        page.driver.execute_cdp_cmd(
            'Input.dispatchTouchEvent',
            {
                'type': f'touch{kind}',
                'touchPoints': [] if kind == 'End' else [finger],
            },
        )
    page.settle()
    assert page.run('return explorer.session.start') == 28
    assert page.errors() == []


def test_dark(page, grid_page):
    def emulate(value):
        features = [{'name': 'prefers-color-scheme', 'value': value}]
        page.driver.execute_cdp_cmd(
            'Emulation.setEmulatedMedia', {'features': features}
        )

    colour = 'return getComputedStyle(document.body).backgroundColor'
    page.screen(1200, 800)
    page.open(grid_page)
    light = page.run(colour)
    emulate('dark')
    page.wait('explorer.controls.drawing.isDark')
    assert page.run(colour) != light
    emulate('light')
    assert page.errors() == []


def test_hostile_names(page, tmp_path):
    data = weighted_grid('ushape', 10, 'wide', 1)
    names = [
        f'</script><script>document.title="x"</script> {n}' for n in range(100)
    ]
    names[0], names[99] = '"><img src=x onerror=alert(1)>', '\u202efedcba'
    ends = {'start': 0, 'goal': 99}
    path = tmp_path / 'page.html'
    title = '<b>bold</b></script><script>alert(1)</script>'
    write_explorer(
        path,
        trained(data, 2),
        data,
        names=names,
        title=title,
        unit='<i>',
        **ends,
    )
    page.screen(1200, 800)
    page.open(path)
    assert page.text('#title') == title
    assert page.run('return document.title') == title
    assert (
        page.run('return document.querySelectorAll("img, b b, i i").length')
        == 0
    )
    value = 'return document.getElementById(arguments[0]).value'
    assert page.run(value, 'start-name') == names[0]
    assert page.run(value, 'goal-name') == names[99]
    page.driver.find_element('id', 'next').click()
    page.wait('explorer.controls.player.step === 0 && !explorer.controls.asked')
    assert names[0] in page.text('#said')
    assert page.errors() == []
