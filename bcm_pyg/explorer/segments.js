// A graph without dead ends and chains, as bcm_pyg.graph.simplify_graph.
import { Graph, Heap } from './graph.js';

/** Segments of forced nodes, their portals, and the graph that is left. */
export class Segments {
  constructor(graph, forced) {
    this.graph = graph;
    this.forced = forced;
    const size = graph.size;
    this.node = Int32Array.from(keysOf(forced, 0)); // full, by core
    this.coreOf = new Int32Array(size).fill(-1);
    this.node.forEach((full, core) => { this.coreOf[full] = core; });
    this.segment = new Int32Array(size).fill(-1);
    this.members = [];
    this.portals = []; // up to two full nodes, ascending
    for (const node of keysOf(forced, 1)) {
      if (this.segment[node] < 0) this.collect(node);
    }
    // Cost between forced nodes and either portal, and the node next to them.
    const costs = () => [0, 1].map(() => new Float64Array(size).fill(Infinity));
    const nodes = () => [0, 1].map(() => new Int32Array(size).fill(-1));
    this.to = { cost: costs(), step: nodes() };
    this.from = { cost: costs(), step: nodes() };
    this.heap = new Heap(size);
    this.cost = new Float64Array(size).fill(Infinity);
    this.step = new Int32Array(size).fill(-1);
    const crossings = [];
    this.portals.forEach((portals, number) => {
      portals.forEach((portal, slot) => {
        this.measure(number, portal, slot, this.from, false);
        this.clear();
        this.measure(number, portal, slot, this.to, true);
        const other = portals[1 - slot];
        if (other !== undefined && this.cost[other] < Infinity) {
          crossings.push(this.crossing(other, portal));
        }
        this.clear();
      });
    });
    this.build(crossings);
  }

  /** The segment of a forced node. */
  collect(first) {
    const number = this.members.length;
    const members = [first];
    const portals = new Set();
    this.segment[first] = number;
    for (const node of members) { // it grows on the way
      for (const edges of [this.graph.outgoing(), this.graph.incoming()]) {
        for (let at = edges.first[node]; at < edges.first[node + 1]; at++) {
          const other = edges.other[at];
          if (!this.forced[other]) portals.add(other);
          else if (this.segment[other] < 0) {
            this.segment[other] = number;
            members.push(other);
          }
        }
      }
    }
    this.members.push(members);
    this.portals.push([...portals].sort((one, two) => one - two));
  }

  /** Searches a segment from a portal, along or against the edges. */
  measure(number, portal, slot, table, reverse) {
    this.search(portal, reverse, (node, other) => (
      this.segment[other] === number
      || (this.segment[node] === number && !this.forced[other])));
    for (const node of this.members[number]) {
      table.cost[slot][node] = this.cost[node];
      table.step[slot][node] = this.step[node];
    }
  }

  search(start, reverse, allows) {
    const { heap, cost, step, graph } = this;
    const edges = reverse ? graph.incoming() : graph.outgoing();
    cost[start] = 0;
    this.touched = [start];
    heap.put(start, 0, true);
    while (heap.length > 0) {
      const node = heap.pop();
      for (let at = edges.first[node]; at < edges.first[node + 1]; at++) {
        const other = edges.other[at];
        const there = cost[node] + edges.cost[at];
        if (there >= cost[other] || !allows(node, other)) continue;
        const isNew = cost[other] === Infinity;
        if (isNew) this.touched.push(other);
        cost[other] = there;
        step[other] = node;
        heap.put(other, there, isNew);
      }
    }
    heap.clear();
  }

  clear() {
    for (const node of this.touched) {
      this.cost[node] = Infinity;
      this.step[node] = -1;
    }
  }

  /** The route from one portal to another, as an edge. */
  crossing(tail, head) {
    const inner = [];
    for (let at = this.step[tail]; at !== head; at = this.step[at]) {
      inner.push(at);
    }
    return { tail, head, cost: this.cost[tail], inner };
  }

  build(crossings) {
    const { graph, forced } = this;
    const edges = crossings;
    for (let id = 0; id < graph.numEdges; id++) {
      const [tail, head] = [graph.tail[id], graph.head[id]];
      if (forced[tail] || forced[head]) continue;
      edges.push({ tail, head, cost: graph.cost[id], inner: [] });
    }
    edges.sort((one, two) => (
      one.tail - two.tail || one.head - two.head || one.cost - two.cost));
    const kept = edges.filter((edge, at) => ( // the cheapest of parallel ones
      at === 0 || edge.tail !== edges[at - 1].tail
      || edge.head !== edges[at - 1].head));
    const of = (name) => kept.map((edge) => this.coreOf[edge[name]]);
    const cost = kept.map((edge) => edge.cost);
    this.core = new Graph(this.node.length, of('tail'), of('head'), cost);
    this.inner = kept.map((edge) => edge.inner);
  }

  /** Where a node meets the simplified graph: portals and costs. */
  portalsOf(node, table) {
    if (!this.forced[node]) return [{ node: this.coreOf[node], cost: 0 }];
    return this.portals[this.segment[node]].map((portal, slot) => (
      { node: this.coreOf[portal], cost: table.cost[slot][node] }));
  }

  /** Pairs of portals that a query may use, at most four. */
  candidates(start, goal) {
    const out = [];
    if (start === goal) return out;
    this.portalsOf(start, this.to).forEach((exit, first) => {
      this.portalsOf(goal, this.from).forEach((entry, second) => {
        const cost = exit.cost + entry.cost;
        if (!(cost < Infinity)) return;
        const which = [first, second];
        out.push({ exit: exit.node, entry: entry.node, cost, which });
      });
    });
    return out;
  }

  /** The best route that does not leave the segment of start and goal. */
  inside(start, goal) {
    if (start === goal) return { nodes: [start], cost: 0 };
    const number = this.segment[goal];
    if (number < 0 || this.segment[start] !== number) {
      return { nodes: [], cost: Infinity };
    }
    this.search(goal, true, (_, other) => this.segment[other] === number);
    const nodes = [];
    if (this.cost[start] < Infinity) {
      for (let at = start; at >= 0; at = this.step[at]) nodes.push(at);
    }
    this.clear();
    return { nodes, cost: this.graph.costOf(nodes) };
  }

  /** A route between portals as one of the full graph, without loops. */
  unpack(route, start, goal, [first, second]) {
    const nodes = this.run(start, this.to.step[first]);
    route.forEach((node, at) => {
      nodes.push(this.node[node]);
      if (at + 1 === route.length) return;
      nodes.push(...this.inner[this.core.edgeOf(node, route[at + 1])]);
    });
    nodes.push(...this.run(goal, this.from.step[second]).reverse());
    return withoutLoops(nodes);
  }

  /** Forced nodes from a node to a portal. */
  run(node, step) {
    const out = [];
    for (let at = node; at >= 0 && this.forced[at]; at = step[at]) out.push(at);
    return out;
  }

  /** Values of nodes that the map knows, spread over forced ones. */
  spread(value, goal) {
    const out = new Float64Array(this.graph.size).fill(Infinity);
    this.node.forEach((full, core) => { out[full] = value[core]; });
    this.members.forEach((members, number) => {
      this.portals[number].forEach((portal, slot) => {
        for (const node of members) {
          const cost = this.to.cost[slot][node] + out[portal];
          if (cost < out[node]) out[node] = cost;
        }
      });
    });
    const number = this.segment[goal];
    if (number >= 0) {
      this.search(goal, true, (_, other) => this.segment[other] === number);
      for (const node of this.members[number]) {
        out[node] = Math.min(out[node], this.cost[node]);
      }
      this.clear();
    }
    out[goal] = 0;
    return out;
  }
}

function keysOf(mask, value) {
  const out = [];
  mask.forEach((entry, key) => { if (entry === value) out.push(key); });
  return out;
}

/** The same route, each node once. */
export function withoutLoops(nodes) {
  const place = new Map();
  const out = [];
  for (const node of nodes) {
    if (place.has(node)) {
      while (out.at(-1) !== node) place.delete(out.pop());
    } else {
      place.set(node, out.length);
      out.push(node);
    }
  }
  return out;
}
