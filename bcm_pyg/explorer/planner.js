// Queries on the full graph: routes, exact routes, and the field of a goal.
import { ExactSearch, reachOf } from './graph.js';
import { MapScorer } from './map.js';
import { RADIUS, READOUTS, corridorGuide, inside } from './readouts.js';
import { Segments } from './segments.js';

/**
 * Plans as Python's Planner does, on the same (simplified) graph.
 *
 * The map may be one of a simplified graph. The page then holds the full graph
 * and which nodes are forced, and simplifies it by itself, so that a closed
 * edge needs no tables: it is simplified again without that edge.
 */
export class Planner {
  /**
   * @param {Graph} graph The full graph, without closed edges.
   * @param {Uint8Array|null} forced Nodes that the map does not know.
   * @param {object} parts The map (see MapScorer), of the nodes it knows.
   * @param {Uint8Array} [bytes] Compiled functions (see kernel.js).
   */
  constructor(graph, forced, parts, bytes) {
    this.graph = graph;
    this.segments = forced ? new Segments(graph, forced) : null;
    this.core = this.segments ? this.segments.core : graph;
    this.bytes = bytes;
    this.kept = new Map(); // the latest of what belongs to a goal
    this.setMap(parts);
  }

  /** Reads another map of the same graph. */
  setMap(parts) {
    this.scorer = new MapScorer(this.core, parts, this.bytes);
  }

  /** What belongs to a goal; the latest few are kept. */
  keep(key, make) {
    let value = this.kept.get(key);
    if (value === undefined) {
      if (this.kept.size >= 8) this.kept.delete(this.kept.keys().next().value);
      value = make();
      this.kept.set(key, value);
    }
    return value;
  }

  /** The best route. */
  exact(start, goal) {
    const make = () => new ExactSearch(this.graph, goal);
    return this.keep(`search ${goal}`, make).route(start);
  }

  /** Which nodes that the map knows can reach one of them. */
  reach(goal) {
    return this.keep(`reach ${goal}`, () => reachOf(this.core, goal));
  }

  /**
   * A route by the map: nodes, cost, expansions; and to play it, the nodes
   * whose edges were scored, and the one where they led to, -1 if nowhere.
   */
  route(readout, start, goal) {
    if (!this.segments) {
      if (!this.reach(goal)[start]) return lost();
      const found = READOUTS[readout](this.scorer, start, goal);
      return { ...found, arrival: found.nodes.at(-1) ?? -1 };
    }
    const { segments } = this;
    let best = segments.inside(start, goal);
    const found = this.candidates(readout, segments.candidates(start, goal));
    let least = null;
    let expansions = 0;
    for (const one of found) {
      expansions += one.expansions;
      if (one.nodes.length && (!least || one.total < least.total)) least = one;
    }
    if (least) {
      const nodes = segments.unpack(least.nodes, start, goal, least.which);
      const cost = this.graph.costOf(nodes);
      if (cost < best.cost) best = { nodes, cost };
    }
    const trace = (least ?? found[0])?.trace ?? [];
    const named = trace.map((node) => segments.node[node]);
    const arrival = least ? segments.node[least.nodes.at(-1)] : -1;
    return { ...best, expansions, trace: named, arrival };
  }

  candidates(readout, pairs) {
    const open = pairs.filter(({ exit, entry }) => this.reach(entry)[exit]);
    if (readout !== 'corridor') {
      return open.map((pair) => {
        const found = READOUTS[readout](this.scorer, pair.exit, pair.entry);
        return { ...pair, ...found, total: found.cost + pair.cost };
      });
    }
    // The most promising candidate draws the corridor of all.
    let [leader, least] = [null, Infinity];
    for (const pair of open) {
      const value = pair.cost + this.value(pair.exit, pair.entry);
      if (leader === null || value < least) [leader, least] = [pair, value];
    }
    if (leader === null) return [];
    const guide = corridorGuide(this.scorer, leader.exit, leader.entry);
    return open.map((pair) => {
      const found = inside(this.core, guide, pair.exit, pair.entry, RADIUS);
      const expansions = pair === leader ? found.expansions : 0;
      return { ...pair, ...found, expansions, total: found.cost + pair.cost };
    });
  }

  /** Estimated cost between two nodes that the map knows. */
  value(node, goal) {
    return this.scorer.value(node, goal, this.reach(goal));
  }

  /** The map's number of a node, -1 if it does not know it. */
  known(node) { return this.segments ? this.segments.coreOf[node] : node; }

  /** Scores of the edges of a node for a goal: heads and costs to go. */
  neighbours(node, goal) {
    const here = this.known(node);
    const entry = this.nearestEntry(goal);
    if (here < 0 || entry < 0) return [];
    const score = this.scorer.scores(here, entry);
    const { first, head } = this.core;
    const out = [];
    for (let edge = first[here]; edge < first[here + 1]; edge++) {
      const to = head[edge];
      const full = this.segments ? this.segments.node[to] : to;
      const value = score[edge - first[here]] * this.scorer.scale;
      out.push({ node: full, value, line: this.line(here, edge, full) });
    }
    return out;
  }

  line(here, edge, full) {
    if (!this.segments) return [here, full];
    return [this.segments.node[here], ...this.segments.inner[edge], full];
  }

  /** All nodes of a walk, given those of them that the map knows. */
  along(nodes) {
    const { core, segments } = this;
    if (!segments) return nodes;
    return nodes.flatMap((node, at) => {
      const [one, two] = [this.known(nodes[at - 1]), this.known(node)];
      const edge = at > 0 ? core.edgeOf(one, two) : -1;
      return edge >= 0 ? [...segments.inner[edge], node] : [node];
    });
  }

  nearestEntry(goal) {
    if (!this.segments) return goal;
    const entries = this.segments.portalsOf(goal, this.segments.from);
    entries.sort((one, two) => one.cost - two.cost);
    return entries[0]?.cost < Infinity ? entries[0].node : -1;
  }

  /**
   * The value field of a goal, some nodes at each turn: yields after about so
   * many, and returns estimated costs of all nodes, infinite without a way.
   */
  * field(goal) {
    const { core, segments } = this;
    const entries = segments ? segments.portalsOf(goal, segments.from)
      : [{ node: goal, cost: 0 }];
    const least = new Float64Array(core.size).fill(Infinity);
    const value = new Float64Array(core.size);
    for (const { node: entry, cost } of entries) {
      if (!(cost < Infinity)) continue;
      const reach = this.reach(entry);
      for (let at = 0; at < core.size;) {
        at = this.scorer.valuesInto(value, at, entry, reach);
        yield;
      }
      for (let node = 0; node < core.size; node++) {
        least[node] = Math.min(least[node], value[node] + cost);
      }
    }
    return segments ? segments.spread(least, goal) : least;
  }
}

const lost = () => (
  { nodes: [], cost: Infinity, expansions: 0, trace: [], arrival: -1 });
