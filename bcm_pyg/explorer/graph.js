// Graphs: edges by tail, a heap of nodes, exact search.

/** Edges in the order of Python's Adjacency: by tail, then by head. */
export class Graph {
  /**
   * @param {number} size Number of nodes.
   * @param {ArrayLike<number>} tail Tails, ascending.
   * @param {ArrayLike<number>} head Heads, ascending for each tail.
   * @param {ArrayLike<number>} cost Costs, float32.
   */
  constructor(size, tail, head, cost) {
    this.size = size;
    this.tail = Int32Array.from(tail);
    this.head = Int32Array.from(head);
    this.cost = Float32Array.from(cost);
    this.first = new Int32Array(size + 1);
    for (const node of this.tail) this.first[node + 1]++;
    for (let node = 0; node < size; node++) {
      this.first[node + 1] += this.first[node];
    }
    this.into = null;
  }

  get numEdges() { return this.head.length; }

  /** The edge between two nodes, -1 if there is none. */
  edgeOf(tail, head) {
    let low = this.first[tail];
    let high = this.first[tail + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.head[middle] < head) low = middle + 1; else high = middle;
    }
    const found = low < this.first[tail + 1] && this.head[low] === head;
    return found ? low : -1;
  }

  /** Edges by tail: where those of a node begin, heads and costs. */
  outgoing() {
    return { first: this.first, other: this.head, cost: this.cost };
  }

  /** Edges by head: where those of a node begin, tails and costs. */
  incoming() {
    if (this.into) return this.into;
    const first = new Int32Array(this.size + 1);
    for (const node of this.head) first[node + 1]++;
    for (let node = 0; node < this.size; node++) first[node + 1] += first[node];
    const next = first.slice();
    const other = new Int32Array(this.numEdges);
    const cost = new Float32Array(this.numEdges);
    for (let id = 0; id < other.length; id++) {
      const at = next[this.head[id]]++;
      other[at] = this.tail[id];
      cost[at] = this.cost[id];
    }
    this.into = { first, other, cost };
    return this.into;
  }

  /** What a route costs; infinite without one. */
  costOf(route) {
    let cost = route.length > 0 ? 0 : Infinity;
    for (let at = 1; at < route.length; at++) {
      cost += this.cost[this.edgeOf(route[at - 1], route[at])];
    }
    return cost;
  }

  /** The graph without some edges: closed[e] is 1 for those. */
  without(closed) {
    const open = [];
    for (let id = 0; id < this.numEdges; id++) if (!closed[id]) open.push(id);
    const of = (values) => open.map((id) => values[id]);
    return new Graph(this.size, of(this.tail), of(this.head), of(this.cost));
  }
}

/** Directed edges of pairs of nodes, as the page stores them. */
export function graphOfPairs(size, count, gap, way, cost, costBack) {
  const numPairs = way.length;
  const low = new Int32Array(numPairs);
  const high = new Int32Array(numPairs);
  const degree = new Int32Array(size + 1);
  for (let node = 0, pair = 0; node < size; node++) {
    for (const end = pair + count[node]; pair < end; pair++) {
      low[pair] = node;
      high[pair] = node + gap[pair];
      if (way[pair] !== 2) degree[node + 1]++;
      if (way[pair] !== 1) degree[high[pair] + 1]++;
    }
  }
  for (let node = 0; node < size; node++) degree[node + 1] += degree[node];
  const next = degree.slice();
  const edges = degree[size];
  const tail = new Int32Array(edges);
  const head = new Int32Array(edges);
  const price = new Float32Array(edges);
  const pairOf = new Int32Array(edges);
  const put = (from, to, value, pair) => {
    const id = next[from]++;
    tail[id] = from;
    head[id] = to;
    price[id] = value;
    pairOf[id] = pair;
  };
  // Pairs come by their lower node, so every node gets its heads ascending.
  for (let pair = 0, back = 0; pair < numPairs; pair++) {
    const kind = way[pair]; // 0: equal costs, 1 and 2: one-way, 3: two costs
    if (kind !== 2) put(low[pair], high[pair], cost[pair], pair);
    if (kind !== 1) {
      const value = kind === 3 ? costBack[back++] : cost[pair];
      put(high[pair], low[pair], value, pair);
    }
  }
  return { graph: new Graph(size, tail, head, price), pairOf, low, high };
}

/** Open nodes: the lowest value first, of equal ones the one found last. */
export class Heap {
  constructor(size) {
    this.nodes = new Int32Array(size);
    this.slot = new Int32Array(size).fill(-1);
    this.value = new Float64Array(size);
    this.order = new Int32Array(size);
    this.length = 0;
    this.found = 0;
  }

  /** Makes it empty; nodes count as found from anew. */
  clear() {
    for (let at = 0; at < this.length; at++) this.slot[this.nodes[at]] = -1;
    this.length = 0;
    this.found = 0;
  }

  get top() { return this.length > 0 ? this.nodes[0] : -1; }

  before(one, two) {
    const first = this.value[one];
    const second = this.value[two];
    if (first !== second) return first < second;
    return this.order[one] > this.order[two];
  }

  /** Adds a node, or changes its value. `isNew`: it was never found before. */
  put(node, value, isNew) {
    if (isNew) this.order[node] = this.found++;
    const sinks = this.slot[node] >= 0 && value > this.value[node];
    this.value[node] = value;
    if (this.slot[node] < 0) this.slot[node] = this.length++;
    if (sinks) this.sink(node); else this.rise(node);
  }

  pop() {
    const node = this.nodes[0];
    this.length--;
    if (this.length > 0) {
      const last = this.nodes[this.length];
      this.slot[last] = 0;
      this.sink(last);
    }
    this.slot[node] = -1;
    return node;
  }

  rise(node) {
    let at = this.slot[node];
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!this.before(node, this.nodes[above])) break;
      this.set(at, this.nodes[above]);
      at = above;
    }
    this.set(at, node);
  }

  sink(node) {
    let at = this.slot[node];
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.length) break;
      if (child + 1 < this.length &&
          this.before(this.nodes[child + 1], this.nodes[child])) child++;
      if (!this.before(this.nodes[child], node)) break;
      this.set(at, this.nodes[child]);
      at = child;
    }
    this.set(at, node);
  }

  set(at, node) {
    this.nodes[at] = node;
    this.slot[node] = at;
  }
}

/** Which nodes can reach a goal: 1 for those. */
export function reachOf(graph, goal) {
  const { first, other } = graph.incoming();
  const reach = new Uint8Array(graph.size);
  const found = [goal];
  reach[goal] = 1;
  for (const node of found) { // it grows on the way
    for (let at = first[node]; at < first[node + 1]; at++) {
      const tail = other[at];
      if (reach[tail]) continue;
      reach[tail] = 1;
      found.push(tail);
    }
  }
  return reach;
}

/**
 * Dijkstra's search against the edges, from one goal over the whole graph.
 *
 * As Python's Dijkstra it serves all starts of a goal, and counts the nodes
 * that are settled until it meets the start.
 */
export class ExactSearch {
  constructor(graph, goal) {
    const { first, other, cost } = graph.incoming();
    this.goal = goal;
    this.cost = new Float64Array(graph.size).fill(Infinity);
    this.next = new Int32Array(graph.size).fill(-1);
    this.rank = new Int32Array(graph.size).fill(-1); // when it was settled
    const heap = new Heap(graph.size);
    this.cost[goal] = 0;
    heap.put(goal, 0, true);
    for (let settled = 0; heap.length > 0; settled++) {
      const node = heap.pop();
      this.rank[node] = settled;
      this.settled = settled + 1;
      for (let at = first[node]; at < first[node + 1]; at++) {
        const tail = other[at];
        const there = this.cost[node] + cost[at];
        if (this.rank[tail] >= 0 || there >= this.cost[tail]) continue;
        const isNew = this.cost[tail] === Infinity;
        this.cost[tail] = there;
        this.next[tail] = node;
        heap.put(tail, there, isNew);
      }
    }
  }

  /** The best route, its cost, and how many nodes were expanded. */
  route(start) {
    const nodes = [];
    const found = this.rank[start] >= 0;
    if (found) {
      for (let at = start; at >= 0; at = this.next[at]) nodes.push(at);
    }
    const expansions = start === this.goal ? 0
      : found ? this.rank[start] + 1 : this.settled;
    return { nodes, cost: this.cost[start], expansions };
  }
}
