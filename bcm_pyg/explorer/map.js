// The learned map: from whole numbers to scores of edges.
import { kernelOf, turned } from './kernel.js';

/** Pairs of nodes that go through the network together, an even number. */
const ROWS = 32;
/** Bytes of what is kept per edge; beyond, it is computed each time. */
const MAX_KEPT = 2 ** 27;

/**
 * Scores D_i(j; g) of a map on a graph, in units of its cost scale.
 *
 * Nodes come projected, h = W1 o. A pair of nodes i, j goes through
 * z = W3 silu(W2 silu(h_j - h_i + b1) + b2), and an edge scores the squared
 * distance of its z to that of the goal. What edges give is kept.
 */
export class MapScorer {
  /**
   * @param {Graph} graph The graph that the map is of.
   * @param {object} parts Float32Arrays: hidden [N, H], bias1 [H],
   *   weight2 [H, H], bias2 [H], weight3 [Z, H]; and scale, calibrated.
   * @param {Uint8Array} [bytes] Compiled functions (see kernel.js).
   */
  constructor(graph, parts, bytes) {
    this.graph = graph;
    this.scale = parts.scale;
    this.calibrated = parts.calibrated;
    const width = parts.bias1.length;
    const last = parts.weight3.length / width;
    this.width = padded(width);
    this.last = padded(last);
    this.hidden = padRows(parts.hidden, width, this.width);
    this.bias1 = padRows(parts.bias1, width, this.width);
    const sizes = {
      weight2: this.width * this.width,
      bias2: this.width,
      weight3: this.width * this.last,
      zeros: this.last,
      x: ROWS * this.width,
      y: ROWS * this.width,
      z: ROWS * this.last,
    };
    const total = Object.values(sizes).reduce((sum, size) => sum + size, 0);
    const pages = Math.ceil((4 * total) / 65536);
    const memory = new WebAssembly.Memory({ initial: pages });
    this.at = {}; // in bytes
    this.of = {}; // as arrays
    let begin = 0;
    for (const [name, size] of Object.entries(sizes)) {
      this.at[name] = begin;
      this.of[name] = new Float32Array(memory.buffer, begin, size);
      begin += 4 * size;
    }
    this.of.weight2.set(turned(parts.weight2, width, this.width));
    this.of.bias2.set(parts.bias2);
    this.of.weight3.set(turned(parts.weight3, width, this.last));
    this.kernel = kernelOf(memory, bytes);
    this.edges = new Array(graph.size).fill(null);
    this.kept = 0;
    this.score = new Float64Array(maxDegree(graph));
  }

  /** Puts the difference of two nodes into a row of the input. */
  load(row, source, target) {
    const { width, hidden, bias1 } = this;
    const x = this.of.x;
    const from = source * width;
    const to = target * width;
    for (let k = 0, at = row * width; k < width; k++, at++) {
      x[at] = hidden[to + k] - hidden[from + k] + bias1[k];
    }
  }

  /** Sends the first rows of the input through the network, to `of.z`. */
  run(rows) {
    const { at, width, last, kernel } = this;
    const even = rows + (rows & 1);
    kernel.silu(at.x, at.x + 4 * even * width);
    kernel.layer(at.x, at.weight2, at.bias2, at.y, even, width, width);
    kernel.silu(at.y, at.y + 4 * even * width);
    kernel.layer(at.y, at.weight3, at.zeros, at.z, even, width, last);
  }

  /** z of all edges of a node, [degree, Z]. */
  edgesOf(node) {
    if (this.edges[node]) return this.edges[node];
    const { first, head } = this.graph;
    const begin = first[node];
    const degree = first[node + 1] - begin;
    const out = new Float32Array(degree * this.last);
    for (let done = 0; done < degree; done += ROWS) {
      const rows = Math.min(ROWS, degree - done);
      for (let row = 0; row < rows; row++) {
        this.load(row, node, head[begin + done + row]);
      }
      this.run(rows);
      out.set(this.of.z.subarray(0, rows * this.last), done * this.last);
    }
    if (this.kept + out.byteLength <= MAX_KEPT) {
      this.kept += out.byteLength;
      this.edges[node] = out;
    }
    return out;
  }

  /** Scores of the edges of a node; the array is reused by the next call. */
  scores(node, goal) {
    const ends = this.edgesOf(node); // first, for it uses the same rows
    this.load(0, node, goal);
    this.run(1);
    return this.compare(node, goal, ends, 0);
  }

  compare(node, goal, ends, row) {
    const { graph, last, score } = this;
    const z = this.of.z;
    const begin = graph.first[node];
    const degree = graph.first[node + 1] - begin;
    const shift = row * last;
    for (let edge = 0, at = 0; edge < degree; edge++) {
      let sum = 0;
      for (let k = shift; k < shift + last; k++, at++) {
        const gap = ends[at] - z[k];
        sum += gap * gap;
      }
      const isLast = graph.head[begin + edge] === goal;
      const cost = this.calibrated ? graph.cost[begin + edge] / this.scale : 0;
      score[edge] = isLast ? cost : sum;
    }
    return score;
  }

  /**
   * Values V_i(g) of nodes from `begin` on, in the graph's units, as many as
   * go through the network together. Edges to nodes that cannot reach the
   * goal do not count. Returns where it ended.
   */
  valuesInto(out, begin, goal, reach) {
    const { graph } = this;
    const end = Math.min(begin + ROWS, graph.size);
    const ends = [];
    for (let node = begin; node < end; node++) ends.push(this.edgesOf(node));
    for (let node = begin; node < end; node++) {
      this.load(node - begin, node, goal);
    }
    this.run(end - begin);
    for (let node = begin; node < end; node++) {
      const row = node - begin;
      const score = this.compare(node, goal, ends[row], row);
      out[node] = node === goal ? 0 : this.least(node, score, reach);
    }
    return end;
  }

  /** The value of one node for a goal, in the graph's units. */
  value(node, goal, reach) {
    if (node === goal) return 0;
    return this.least(node, this.scores(node, goal), reach);
  }

  least(node, score, reach) {
    const { first, head } = this.graph;
    let least = Infinity;
    for (let edge = first[node]; edge < first[node + 1]; edge++) {
      const value = score[edge - first[node]];
      if (value < least && reach[head[edge]]) least = value;
    }
    return least * this.scale;
  }
}

const padded = (size) => 16 * Math.ceil(size / 16);

/** Rows made longer by zeros. */
function padRows(values, width, wide) {
  if (width === wide) return values;
  const out = new Float32Array((values.length / width) * wide);
  for (let from = 0, to = 0; from < values.length; from += width, to += wide) {
    out.set(values.subarray(from, from + width), to);
  }
  return out;
}

function maxDegree(graph) {
  let most = 0;
  for (let node = 0; node < graph.size; node++) {
    most = Math.max(most, graph.first[node + 1] - graph.first[node]);
  }
  return most;
}
