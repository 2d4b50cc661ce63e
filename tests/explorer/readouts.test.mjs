// That they agree with Python node for node is tested in a browser.
import assert from 'node:assert/strict';
import test from 'node:test';
import { READOUTS, TURNS, backtrack, expand, inside, walk }
  from '../../bcm_pyg/explorer/readouts.js';
import { TrueScorer, costsTo, graphOfEdges, gridGraph, random }
  from './graphs.mjs';

const GRID = gridGraph(6, 7);

for (const name of Object.keys(READOUTS)) {
  test(`${name} finds the best route by the true costs`, () => {
    const scorer = new TrueScorer(GRID);
    for (const [start, goal] of [[0, 35], [5, 30], [14, 15], [8, 8]]) {
      const { nodes, cost, trace } = READOUTS[name](scorer, start, goal);
      assert.equal(nodes[0], start);
      assert.equal(nodes.at(-1), goal);
      assert.ok(Math.abs(cost - costsTo(GRID, goal)[start]) < 1e-6);
      assert.ok(Math.abs(GRID.costOf(nodes) - cost) < 1e-6);
      assert.equal(trace.length > 0, start !== goal);
    }
  });
}

for (const name of ['backtracking', 'best_first', 'corridor']) {
  test(`${name} finds a route by useless scores`, () => {
    const next = random(11);
    const errors = Array.from(GRID.head, () => 500 * next());
    const scorer = new TrueScorer(GRID, (edge) => errors[edge]);
    for (const [start, goal] of [[0, 35], [5, 30], [33, 2]]) {
      const { nodes, cost } = READOUTS[name](scorer, start, goal);
      assert.deepEqual([nodes[0], nodes.at(-1)], [start, goal]);
      assert.equal(new Set(nodes).size, nodes.length);
      assert.ok(cost >= costsTo(GRID, goal)[start] - 1e-6);
    }
  });
}

test('a corridor widens until the route stays as it is', () => {
  // Each row is cheaper than the one above; the guide knows the first.
  const side = 12;
  for (const [rows, radius] of [[4, 1], [9, 2], [24, 1]]) {
    const edges = [];
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < side; column++) {
        const cell = row * side + column;
        const along = [cell, cell + 1, 4 * (rows - row)];
        if (column < side - 1) edges.push(along);
        if (row < rows - 1) edges.push([cell, cell + side, 1]);
      }
    }
    const both = edges.flatMap(([a, b, cost]) => [[a, b, cost], [b, a, cost]]);
    const graph = graphOfEdges(rows * side, both);
    const first = Array.from({ length: side }, (_, column) => column);
    const found = inside(graph, first, 0, side - 1, radius);
    const depth = Math.min(rows - 1, radius * TURNS);
    const costs = Array.from({ length: depth + 1 },
      (_, at) => 2 * at + 44 * (rows - at));
    assert.equal(found.cost, Math.min(...costs));
    assert.equal(found.expansions, side * (depth + 1));
  }
});

test('of routes of the same cost a corridor takes that of Python', () => {
  const graph = graphOfEdges(6, [
    [0, 1, 10], [0, 2, 10], [0, 3, 1], [3, 2, 4], [0, 4, 5], [2, 1, 3],
    [4, 1, 3], [4, 5, 1], [5, 1, 0.5],
  ]);
  const found = inside(graph, [0, 1], 0, 1, 1);
  assert.deepEqual(found.nodes, [0, 3, 2, 1]);
  assert.deepEqual([found.cost, found.expansions], [8, 5]);
});

test('a walk without memory ends in a circle, one with memory escapes', () => {
  // 0 - 1 - 2, where 0 looks best from 1.
  const graph = graphOfEdges(3, [[0, 1, 1], [1, 0, 1], [1, 2, 1], [2, 1, 1]]);
  const scorer = { graph, scale: 1, scores: (node) => [[1], [0, 9], [1]][node] };
  const lost = walk(scorer, 0, 2, false);
  assert.deepEqual([lost.nodes, lost.cost, lost.expansions], [[], Infinity, 2]);
  const found = walk(scorer, 0, 2, true);
  assert.deepEqual([found.nodes, found.cost, found.expansions], [[0, 1, 2], 2, 2]);
});

test('a dead end ends a walk, and is left by backtracking', () => {
  // From 0 to the dead end 1, or by 2 to 3.
  const graph = graphOfEdges(4, [[0, 1, 1], [1, 0, 1], [0, 2, 1], [2, 3, 1]]);
  const scores = [[1, 5], [9], [1], []];
  const scorer = { graph, scale: 1, scores: (node) => scores[node] };
  assert.deepEqual(backtrack(scorer, 0, 3).nodes, [0, 2, 3]);
  const trap = graphOfEdges(3, [[0, 1, 1], [0, 2, 1]]);
  const stuck = { graph: trap, scale: 1, scores: () => [0, 1] };
  assert.deepEqual(walk(stuck, 0, 2, true).nodes, []);
});

test('scores that are no numbers come last but are not lost', () => {
  const graph = graphOfEdges(3, [[0, 1, 1], [1, 2, 1]]);
  const scorer = { graph, scale: 1, scores: () => [NaN] };
  for (const name of Object.keys(READOUTS)) {
    assert.deepEqual(READOUTS[name](scorer, 0, 2).nodes, [0, 1, 2], name);
  }
});

test('a limit ends best-first search', () => {
  const scorer = new TrueScorer(GRID);
  assert.equal(expand(scorer, 0, 35, 0, 4).length, 4);
});
