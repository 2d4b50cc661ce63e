import assert from 'node:assert/strict';
import test from 'node:test';
import { ExactSearch } from '../../bcm_pyg/explorer/graph.js';
import { Planner } from '../../bcm_pyg/explorer/planner.js';
import { Segments, withoutLoops } from '../../bcm_pyg/explorer/segments.js';
import { graphOfEdges, random, randomMap } from './graphs.mjs';

/**
 * Three junctions 0, 1, 2, joined by roads; 0 - 3 - 4 - 1 and 1 - 5 - 2 are
 * chains (5 one-way), 6 hangs at 4, and 7 - 8 is a dead end of 2.
 */
function roads(seed) {
  const next = random(seed);
  const cost = () => Math.fround(1 + next());
  const both = [[0, 1], [0, 2], [0, 3], [3, 4], [4, 1], [4, 6], [2, 7], [7, 8]];
  const edges = [[1, 5, cost()], [5, 2, cost()]];
  for (const [one, two] of both) {
    edges.push([one, two, cost()], [two, one, cost()]);
  }
  return graphOfEdges(9, edges);
}
const FORCED = Uint8Array.of(0, 0, 0, 1, 1, 1, 1, 1, 1);

test('chains become edges, and their nodes have portals', () => {
  const graph = roads(1);
  const segments = new Segments(graph, FORCED);
  assert.deepEqual([...segments.node], [0, 1, 2]);
  assert.deepEqual(segments.portals, [[0, 1], [1, 2], [2]]);
  const { core, inner } = segments;
  assert.deepEqual(inner[core.edgeOf(1, 2)], [5]);
  assert.equal(core.edgeOf(2, 1), -1);
  const chain = graph.costOf([0, 3, 4, 1]);
  const direct = graph.costOf([0, 1]);
  const edge = core.edgeOf(0, 1);
  assert.ok(Math.abs(core.cost[edge] - Math.min(chain, direct)) < 1e-6);
  assert.deepEqual(segments.candidates(6, 8).map(({ which }) => which),
    [[0, 0], [1, 0]]);
  assert.deepEqual(segments.inside(3, 6).nodes, [3, 4, 6]);
  assert.equal(segments.inside(0, 1).cost, Infinity);
});

test('best routes on the simplified graph are best on the full one', () => {
  for (let seed = 0; seed < 5; seed++) {
    const graph = roads(seed);
    const planner = new Planner(graph, FORCED, randomMap(3, 16, 16, seed));
    for (let goal = 0; goal < 9; goal++) {
      const search = new ExactSearch(graph, goal);
      for (let start = 0; start < 9; start++) {
        const wanted = search.route(start).cost;
        const { nodes, cost } = planner.route('corridor', start, goal);
        assert.equal(wanted === Infinity, nodes.length === 0);
        if (nodes.length === 0) continue;
        assert.deepEqual([nodes[0], nodes.at(-1)], [start, goal]);
        assert.ok(Math.abs(cost - wanted) < 1e-5, `${start} ${goal}`);
        assert.ok(Math.abs(graph.costOf(nodes) - cost) < 1e-9);
      }
    }
  }
});

test('the field covers forced nodes', () => {
  const graph = roads(2);
  const planner = new Planner(graph, FORCED, randomMap(3, 16, 16, 3));
  const turns = planner.field(6);
  let turn = turns.next();
  while (!turn.done) turn = turns.next();
  const { value: field } = turn;
  const { segments } = planner;
  assert.equal(field[6], 0);
  assert.ok(Math.abs(field[4] - graph.costOf([4, 6])) < 1e-6);
  const by = segments.portalsOf(7, segments.to)[0];
  assert.ok(Math.abs(field[7] - by.cost - field[2]) < 1e-6);
});

test('loops are cut', () => {
  assert.deepEqual(withoutLoops([1, 2, 3, 2, 4]), [1, 2, 4]);
  assert.deepEqual(withoutLoops([1, 1, 2]), [1, 2]);
});
