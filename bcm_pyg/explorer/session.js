// What is explored: the query, the readout, the map and closed edges.
import { Planner } from './planner.js';

/** Readouts that walk from node to node; others search. */
export const WALKS = ['greedy', 'visited_greedy', 'backtracking'];

/** One exploration of a page, without anything of the screen. */
export class Session {
  /**
   * @param {object} page What openPage returns.
   * @param {object} parts The map to begin with (see MapScorer).
   */
  constructor(page, parts) {
    this.page = page;
    this.parts = parts;
    this.start = page.about.start;
    this.goal = page.about.goal;
    this.readout = page.about.readout;
    this.closed = new Set(); // pairs of nodes
    this.rebuild();
  }

  /** The pair of two nodes that an edge joins, -1 if none does. */
  pairOf(one, two) {
    const { graph, pairOf } = this.page;
    const edge = graph.edgeOf(one, two);
    const known = edge >= 0 ? edge : graph.edgeOf(two, one);
    return known >= 0 ? pairOf[known] : -1;
  }

  /** Nodes that an edge joins with one, in either direction. */
  neighboursOf(node) {
    const { graph } = this.page;
    const out = new Set();
    for (const { first, other } of [graph.outgoing(), graph.incoming()]) {
      for (let at = first[node]; at < first[node + 1]; at++) out.add(other[at]);
    }
    return out;
  }

  rebuild() {
    const { graph, pairOf, forced, kernel } = this.page;
    let open = graph;
    if (this.closed.size > 0) {
      const closed = new Uint8Array(graph.numEdges);
      pairOf.forEach((pair, edge) => {
        if (this.closed.has(pair)) closed[edge] = 1;
      });
      open = graph.without(closed);
    }
    this.planner = new Planner(open, forced, this.parts, kernel);
  }

  /** Closes a pair of nodes in both directions, or opens it again. */
  toggle(pair) {
    if (!this.closed.delete(pair)) this.closed.add(pair);
    this.rebuild();
  }

  reopen() {
    this.closed.clear();
    this.rebuild();
  }

  /** Reads the map of another time of training. */
  async setMap(number) {
    this.parts = await this.page.maps[number].open();
    this.planner.setMap(this.parts);
  }

  route() {
    return this.planner.route(this.readout, this.start, this.goal);
  }

  exact() { return this.planner.exact(this.start, this.goal); }

  get walks() { return WALKS.includes(this.readout); }

  /**
   * A step of a route: the node, its neighbours with their scores, the nodes
   * behind it, and where it goes if the readout walks.
   */
  look({ trace, arrival }, step) {
    const node = trace[step];
    const neighbours = this.planner.neighbours(node, this.goal);
    const behind = trace.slice(0, step + 1);
    if (!this.walks) return { node, neighbours, behind, route: [], chosen: -1 };
    const chosen = trace[step + 1] ?? arrival;
    const route = this.planner.along(behind);
    return { node, neighbours, behind, route, chosen };
  }
}
