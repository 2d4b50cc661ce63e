import assert from 'node:assert/strict';
import test from 'node:test';
import { ExactSearch, Heap, graphOfPairs, reachOf }
  from '../../bcm_pyg/explorer/graph.js';
import { costsTo, graphOfEdges, gridGraph, random, randomGraph }
  from './graphs.mjs';

test('edges are found by their ends', () => {
  const graph = graphOfEdges(3, [[0, 2, 1], [0, 1, 2], [2, 0, 3]]);
  assert.deepEqual([...graph.first], [0, 2, 2, 3]);
  assert.equal(graph.edgeOf(0, 1), 0);
  assert.equal(graph.edgeOf(0, 2), 1);
  assert.equal(graph.edgeOf(1, 0), -1);
  assert.equal(graph.costOf([2, 0, 1]), 5);
  assert.equal(graph.costOf([]), Infinity);
});

test('pairs become directed edges by tail and head', () => {
  // 0-1 equal, 0->2 alone, 3->1 alone, 2-3 with two costs
  const { graph, pairOf } = graphOfPairs(4, [2, 1, 1, 0], [1, 2, 2, 1],
    [0, 1, 2, 3], [5, 6, 7, 8], [9]);
  const edges = [...graph.head].map((head, edge) => (
    [graph.tail[edge], head, graph.cost[edge], pairOf[edge]]));
  assert.deepEqual(edges, [[0, 1, 5, 0], [0, 2, 6, 1], [1, 0, 5, 0],
    [2, 3, 8, 3], [3, 1, 7, 2], [3, 2, 9, 3]]);
});

test('closed edges are left out', () => {
  const graph = gridGraph(3, 0);
  const closed = new Uint8Array(graph.numEdges);
  closed[graph.edgeOf(4, 5)] = 1;
  const open = graph.without(closed);
  assert.equal(open.numEdges, graph.numEdges - 1);
  assert.equal(open.edgeOf(4, 5), -1);
  assert.ok(open.edgeOf(5, 4) >= 0);
});

test('a heap gives the lowest value, of equal ones the one found last', () => {
  const next = random(3);
  const heap = new Heap(200);
  const values = new Map();
  for (let turn = 0; turn < 500; turn++) {
    const node = Math.floor(200 * next());
    const isNew = !values.has(node);
    const value = Math.floor(20 * next());
    heap.put(node, value, isNew);
    values.set(node, { value, order: isNew ? values.size
      : values.get(node).order });
  }
  const wanted = [...values].sort(([, a], [, b]) => (
    a.value - b.value || b.order - a.order)).map(([node]) => node);
  assert.deepEqual(wanted.map(() => heap.pop()), wanted);
  assert.equal(heap.length, 0);
});

test('exact search agrees with relaxing all edges', () => {
  for (let seed = 0; seed < 20; seed++) {
    const graph = randomGraph(30, 70, seed);
    const goal = seed % 30;
    const wanted = costsTo(graph, goal);
    const search = new ExactSearch(graph, goal);
    const reach = reachOf(graph, goal);
    for (let start = 0; start < 30; start++) {
      const { nodes, cost, expansions } = search.route(start);
      assert.equal(reach[start] === 1, wanted[start] < Infinity);
      assert.ok(cost === wanted[start] || Math.abs(cost - wanted[start]) < 1e-9);
      assert.equal(nodes.length > 0, cost < Infinity);
      if (nodes.length > 0) {
        assert.equal(nodes.at(-1), goal);
        assert.ok(Math.abs(graph.costOf(nodes) - cost) < 1e-9);
      }
      const nearer = wanted.filter((value) => value < wanted[start]).length;
      if (cost < Infinity && start !== goal) assert.ok(expansions > nearer);
    }
    assert.equal(search.route(goal).expansions, 0);
  }
});
