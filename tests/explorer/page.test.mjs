// What a page holds, a session on it, and where things are on the screen.
import assert from 'node:assert/strict';
import test from 'node:test';
import { deflateSync } from 'node:zlib';
import { fromBase64, fromCodes, inflated, unpacked }
  from '../../bcm_pyg/explorer/contents.js';
import { fieldColour, shown, viridis }
  from '../../bcm_pyg/explorer/drawing.js';
import { fieldOf } from '../../bcm_pyg/explorer/field.js';
import { graphOfPairs } from '../../bcm_pyg/explorer/graph.js';
import { Session } from '../../bcm_pyg/explorer/session.js';
import { View } from '../../bcm_pyg/explorer/view.js';
import { randomMap } from './graphs.mjs';

/** A square 0 - 1 / 2 - 3, with a bend between 0 and 1. */
function square() {
  const arrays = {
    x: [0, 10, 0, 10], y: [0, 0, 10, 10], bend_count: [1, 0, 0, 0],
    bend_x: [5], bend_y: [-4],
  };
  const about = { size: 4, step: [1, 1], cells: false, start: 0, goal: 3,
    readout: 'corridor' };
  const pairs = graphOfPairs(4, [2, 1, 1, 0], [1, 2, 2, 1], [0, 0, 0, 0],
    [1, 2, 2, 2], []);
  const maps = [1, 2].map((seed) => ({
    open: async () => randomMap(4, 16, 16, seed) }));
  return { ...pairs, arrays, about, maps, forced: null };
}

test('bytes of numbers are put together again', async () => {
  const bytes = new Uint8Array([7, 8, 1, 2, 0, 1]);
  const text = Buffer.from(deflateSync(bytes)).toString('base64');
  const plain = await inflated(fromBase64(`\n${text}\n`));
  const { a, b } = unpacked([['a', 'u1', 2, 2], ['b', 'u2', 2, 1]], plain);
  assert.deepEqual([...a], [7, 8]);
  assert.deepEqual([...b], [1, 258]);
  assert.equal(b.rows, 1);
});

test('codes have a scale for 128 of them along the longer side', () => {
  const codes = (rows, columns) => (
    Object.assign(new Int8Array(rows * columns).fill(1), { rows }));
  const wide = fromCodes({ w: codes(2, 130), w_scale: [1, 2, 3, 4] }, 'w');
  assert.deepEqual([wide[0], wide[128], wide[130], wide[259]], [1, 2, 3, 4]);
  const tall = fromCodes({ w: codes(130, 2), w_scale: [1, 2, 3, 4] }, 'w');
  assert.deepEqual([tall[0], tall[1], tall[256], tall[259]], [1, 3, 2, 4]);
});

test('closed edges change routes, and open again', async () => {
  const session = new Session(square(), randomMap(4, 16, 16, 1));
  assert.deepEqual(session.route().nodes, [0, 1, 3]);
  assert.equal(session.exact().cost, 3);
  session.toggle(session.pairOf(1, 0));
  assert.deepEqual(session.route().nodes, [0, 2, 3]);
  session.toggle(session.pairOf(0, 2));
  assert.deepEqual(session.route().nodes, []);
  assert.equal(session.exact().cost, Infinity);
  session.reopen();
  assert.deepEqual(session.exact().nodes, [0, 1, 3]);
  assert.equal(session.pairOf(0, 3), -1);
  assert.deepEqual([...session.neighboursOf(3)].sort(), [1, 2]);
  const before = session.planner.scorer;
  await session.setMap(1);
  assert.notEqual(session.planner.scorer, before);
});

test('a look shows the neighbours, and where a walk goes', () => {
  const session = new Session(square(), randomMap(4, 16, 16, 1));
  session.readout = 'visited_greedy';
  const route = session.route();
  const look = session.look(route, 0);
  assert.equal(look.node, 0);
  assert.deepEqual(look.neighbours.map(({ node }) => node), [1, 2]);
  assert.equal(look.chosen, route.nodes[1]);
  assert.equal(session.look(route, route.trace.length - 1).chosen, 3);
  session.readout = 'best_first';
  assert.equal(session.look(session.route(), 0).chosen, -1);
});

test('points of the screen lead to nodes and edges', () => {
  const view = new View(square());
  view.fit({ x: 0, y: 0, width: 100, height: 200 });
  assert.deepEqual(view.pointOf(0), [0, 50]);
  assert.deepEqual(view.pointOf(3), [100, 150]);
  assert.equal(view.nearestNode(90, 60), 1);
  const page = square();
  const top = view.nearestPair(50, 14, 12); // at the bend
  assert.deepEqual([page.low[top], page.high[top]], [0, 1]);
  assert.equal(view.nearestPair(50, 100, 12), -1);
  const pairOf = (one, two) => new Session(page, randomMap(4, 16, 16, 1))
    .pairOf(one, two);
  const line = [[0, 50], [50, 10], [100, 50]];
  assert.deepEqual(view.lineOf([0, 1], pairOf), line);
  assert.deepEqual(view.lineOf([1, 0], pairOf), line.reverse());
  view.zoom(2, 0, 50);
  assert.deepEqual(view.pointOf(0), [0, 50]);
  assert.deepEqual(view.pointOf(1), [200, 50]);
  assert.equal(view.neighbourToward([1, 2], 0, 1, 0), 1);
  assert.equal(view.neighbourToward([1, 2], 0, 0, -1), -1);
});

test('numbers and colours', () => {
  assert.deepEqual([0, 0.01234, 1.5, 166.4, 12345.6, Infinity].map(shown),
    ['0', '0.0123', '1.50', '166', '12346', '–']);
  assert.deepEqual(viridis(0), [68, 1, 84]);
  assert.deepEqual(viridis(1), [253, 231, 37]);
  assert.deepEqual(fieldColour(0, 5), viridis(1));
  assert.deepEqual(fieldColour(9, 5), viridis(0));
});

test('few nodes far away do not take all colours', () => {
  const values = Float64Array.from({ length: 101 }, (_, at) => at);
  assert.deepEqual(fieldOf(values).most, 100);
  values[100] = 1e6;
  assert.deepEqual(fieldOf(values).most, 98);
  assert.ok(fieldOf(values).isCut);
  values.fill(Infinity);
  assert.equal(fieldOf(values).most, 0);
});
