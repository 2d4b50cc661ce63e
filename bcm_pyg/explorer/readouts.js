// Ways to turn scores into routes: those of bcm_pyg.planning, node for node.
import { Heap } from './graph.js';

/** What stands for a score that is no number: last, but not lost. */
const HUGE = Number.MAX_VALUE / 4;

/** What a score leaves for the way after its edge, at least 0. */
function restOf(score, cost) {
  const rest = score - cost;
  if (rest < 0) return 0;
  return rest < HUGE ? rest : HUGE;
}

const noRoute = (expansions, trace) => (
  { nodes: [], cost: Infinity, expansions, trace });

/**
 * A walk to the best-scored neighbour; unvisited ones first if preferred.
 * `trace` are the nodes whose edges were scored, in order.
 */
export function walk(scorer, start, goal, preferUnvisited) {
  const { graph } = scorer;
  const visited = new Uint8Array(graph.size);
  const nodes = [start];
  visited[start] = 1;
  let [cost, expansions, node] = [0, 1, start];
  // A circle ends it: a watched node comes again and none was new since.
  let [watched, lap, stale] = [start, 1, 0];
  if (start === goal) return { nodes, cost, expansions: 0, trace: [] };
  while (nodes.length <= graph.size) {
    const score = scorer.scores(node, goal);
    const first = graph.first[node];
    let [best, chosen, fresh] = [0, -1, false];
    for (let edge = first; edge < graph.first[node + 1]; edge++) {
      let rank = score[edge - first];
      if (!(rank < Infinity)) rank = Infinity;
      const isNew = !visited[graph.head[edge]];
      const better = isNew && preferUnvisited && !fresh;
      const same = isNew === fresh || !preferUnvisited;
      if (chosen < 0 || better || (same && rank < best)) {
        [best, chosen, fresh] = [rank, edge, isNew];
      }
    }
    if (chosen < 0) return noRoute(expansions, nodes); // a dead end
    cost += graph.cost[chosen];
    node = graph.head[chosen];
    nodes.push(node);
    if (node === goal) {
      return { nodes, cost, expansions, trace: nodes.slice(0, -1) };
    }
    if (!visited[node]) {
      visited[node] = 1;
      expansions++;
      [watched, lap, stale] = [node, 1, 0];
      continue;
    }
    stale++;
    if (!preferUnvisited || node === watched) break;
    if (stale >= lap) [watched, lap] = [node, 2 * lap];
  }
  return noRoute(expansions, nodes);
}

/** Real-time A*, then a retreat (see Backtracking). */
export function backtrack(scorer, start, goal) {
  const { graph } = scorer;
  const learned = new Map([[start, 0]]); // of the nodes that were entered
  const route = [start];
  const edges = [-1];
  const place = new Map([[start, 0]]); // on the route
  const expanded = new Set();
  const trace = [];
  let tried = null; // when it retreats
  let moves = 0;
  while (route.length > 0 && route.at(-1) !== goal) {
    const node = route.at(-1);
    expanded.add(node);
    trace.push(node);
    const score = scorer.scores(node, goal);
    const first = graph.first[node];
    let [best, second, chosen, fresh] = [Infinity, Infinity, -1, false];
    for (let edge = first; edge < graph.first[node + 1]; edge++) {
      const head = graph.head[edge];
      const step = graph.cost[edge];
      const isNew = !learned.has(head);
      let rest = restOf(score[edge - first] * scorer.scale, step);
      if (tried) {
        if (tried.has(head)) continue;
      } else if (!isNew) rest = learned.get(head);
      const value = step + rest;
      if (value < best || (value === best && isNew && !fresh)) {
        [second, best, chosen, fresh] = [best, value, edge, isNew];
      } else if (value < second) second = value;
    }
    moves++;
    if (!tried) {
      learned.set(node, second);
      if (chosen < 0 || moves > 4 * graph.size) {
        tried = new Set(route);
        continue;
      }
    }
    if (chosen < 0) {
      place.delete(route.pop());
      edges.pop();
      continue;
    }
    const head = graph.head[chosen];
    if (!learned.has(head)) learned.set(head, 0);
    if (tried) tried.add(head);
    if (place.has(head)) { // a loop, which is cut
      while (route.at(-1) !== head) {
        place.delete(route.pop());
        edges.pop();
      }
    } else {
      place.set(head, route.length);
      route.push(head);
      edges.push(chosen);
    }
  }
  if (route.length === 0) return noRoute(expanded.size, trace);
  let cost = 0;
  for (let at = 1; at < edges.length; at++) cost += graph.cost[edges[at]];
  return { nodes: route, cost, expansions: expanded.size, trace };
}

/** The nodes that best-first search expands, in order, at most `limit`. */
export function expand(scorer, start, goal, weight, limit = Infinity) {
  const { graph } = scorer;
  const heap = new Heap(graph.size);
  const cost = new Float64Array(graph.size).fill(Infinity);
  const closed = new Uint8Array(graph.size);
  const expanded = [];
  cost[start] = 0;
  heap.put(start, 0, true);
  while (heap.length > 0 && heap.top !== goal && expanded.length < limit) {
    const node = heap.pop();
    closed[node] = 1;
    expanded.push(node);
    const score = scorer.scores(node, goal);
    const first = graph.first[node];
    for (let edge = first; edge < graph.first[node + 1]; edge++) {
      const head = graph.head[edge];
      const step = graph.cost[edge];
      const there = cost[node] + step;
      if (closed[head] || there >= cost[head]) continue;
      const rest = restOf(score[edge - first] * scorer.scale, step);
      const isNew = cost[head] === Infinity;
      cost[head] = there;
      heap.put(head, Math.min(there + weight * rest, HUGE), isNew);
    }
  }
  return expanded;
}

/** The best route through members alone, if it costs less than a known one. */
function searchInside(graph, members, start, goal, known = Infinity) {
  const heap = new Heap(graph.size);
  const cost = new Float64Array(graph.size).fill(Infinity);
  const before = new Int32Array(graph.size).fill(-1);
  cost[start] = 0;
  heap.put(start, 0, true);
  while (heap.length > 0) {
    const node = heap.pop();
    if (node === goal) {
      const nodes = [];
      for (let at = goal; at >= 0; at = before[at]) nodes.push(at);
      return { nodes: nodes.reverse(), cost: cost[goal] };
    }
    for (let edge = graph.first[node]; edge < graph.first[node + 1]; edge++) {
      const head = graph.head[edge];
      const there = cost[node] + graph.cost[edge];
      const least = Math.min(known, cost[head]);
      if (!members.has(head) || there >= least) continue;
      const isNew = cost[head] === Infinity;
      cost[head] = there;
      before[head] = node;
      heap.put(head, there, isNew);
    }
  }
  return { nodes: [], cost: Infinity };
}

/** How often a corridor is widened at most. */
export const TURNS = 16;

/** All nodes at most so many hops away from a route, it included. */
function around(graph, route, radius) {
  const near = new Set(route);
  let rim = route;
  for (let hop = 0; hop < radius; hop++) {
    const next = [];
    for (const node of rim) {
      const end = graph.first[node + 1];
      for (let edge = graph.first[node]; edge < end; edge++) {
        const head = graph.head[edge];
        if (near.has(head)) continue;
        near.add(head);
        next.push(head);
      }
    }
    rim = next;
  }
  return near;
}

/**
 * The best route through some nodes, start and goal; with a radius, then also
 * through all nodes at most so many hops away from it, until none is better,
 * in so many turns at most as in Python.
 */
export function inside(graph, nodes, start, goal, radius) {
  const members = new Set(nodes);
  const usable = new Set([...nodes, start, goal]);
  let found = searchInside(graph, usable, start, goal);
  const widens = found.nodes.length > 0 && radius > 0 && start !== goal;
  for (let turn = 0; widens && turn < TURNS; turn++) {
    const before = members.size;
    // Start and goal are on the route, so they are members from now on.
    for (const node of around(graph, found.nodes, radius)) members.add(node);
    if (members.size === before) break;
    const better = searchInside(graph, members, start, goal, found.cost);
    if (better.nodes.length === 0) break;
    found = better;
  }
  return { ...found, expansions: members.size, trace: nodes };
}

/** The nodes that the guide of a corridor finds, there and back. */
export function corridorGuide(scorer, start, goal) {
  const there = expand(scorer, start, goal, 1);
  return [...there, ...expand(scorer, goal, start, 1, 2 * there.length)];
}

/** Hops to widen a corridor by. */
export const RADIUS = 2;

/** Readouts by the names that Python gives them. */
export const READOUTS = {
  greedy: (scorer, start, goal) => walk(scorer, start, goal, false),
  visited_greedy: (scorer, start, goal) => walk(scorer, start, goal, true),
  backtracking: backtrack,
  best_first(scorer, start, goal) {
    const nodes = expand(scorer, start, goal, 1);
    return inside(scorer.graph, nodes, start, goal, 0);
  },
  corridor(scorer, start, goal) {
    const nodes = corridorGuide(scorer, start, goal);
    return inside(scorer.graph, nodes, start, goal, RADIUS);
  },
};
