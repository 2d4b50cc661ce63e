// Small graphs for the tests of the modules, and slow twins.
import { Graph } from '../../bcm_pyg/explorer/graph.js';

/** Numbers from 0 to 1 that are the same in every run. */
export function random(seed) {
  let state = seed + 1;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A graph of edges [tail, head, cost] in any order. */
export function graphOfEdges(size, edges) {
  const sorted = [...edges].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const column = (at) => sorted.map((edge) => edge[at]);
  return new Graph(size, column(0), column(1), column(2));
}

/** A grid of side x side cells, both ways with one cost per pair. */
export function gridGraph(side, seed) {
  const next = random(seed);
  const edges = [];
  for (let node = 0; node < side * side; node++) {
    const others = [];
    if ((node + 1) % side) others.push(node + 1);
    if (node + side < side * side) others.push(node + side);
    for (const other of others) {
      const cost = Math.fround(1 + 9 * next());
      edges.push([node, other, cost], [other, node, cost]);
    }
  }
  return graphOfEdges(side * side, edges);
}

/** Directed edges between random nodes. */
export function randomGraph(size, numEdges, seed) {
  const next = random(seed);
  const known = new Map();
  for (let edge = 0; edge < numEdges; edge++) {
    const [tail, head] = [0, 1].map(() => Math.floor(size * next()));
    if (tail !== head) known.set(`${tail} ${head}`, [tail, head, next()]);
  }
  return graphOfEdges(size, known.values());
}

/** Costs of all nodes to a goal, by relaxing all edges again and again. */
export function costsTo(graph, goal) {
  const cost = new Array(graph.size).fill(Infinity);
  cost[goal] = 0;
  for (let round = 0; round < graph.size; round++) {
    for (let edge = 0; edge < graph.numEdges; edge++) {
      const there = graph.cost[edge] + cost[graph.head[edge]];
      cost[graph.tail[edge]] = Math.min(cost[graph.tail[edge]], there);
    }
  }
  return cost;
}

/** Scores by the true costs plus an error of each edge. */
export class TrueScorer {
  constructor(graph, error = () => 0) {
    this.graph = graph;
    this.error = error;
    this.scale = 1;
    this.costs = new Map();
  }

  scores(node, goal) {
    if (!this.costs.has(goal)) this.costs.set(goal, costsTo(this.graph, goal));
    const cost = this.costs.get(goal);
    const { first, head, cost: price } = this.graph;
    const out = [];
    for (let edge = first[node]; edge < first[node + 1]; edge++) {
      out.push(price[edge] + cost[head[edge]] + this.error(edge));
    }
    return out;
  }
}

/** The parts of a map with random weights. */
export function randomMap(size, width, last, seed) {
  const next = random(seed);
  const numbers = (length, scale) => (
    Float32Array.from({ length }, () => scale * (next() - 0.5)));
  return {
    scale: 2.5,
    calibrated: true,
    hidden: numbers(size * width, 4),
    bias1: numbers(width, 1),
    weight2: numbers(width * width, 0.5),
    bias2: numbers(width, 1),
    weight3: numbers(last * width, 0.5),
  };
}
