// From the bytes of the page to arrays, a graph and maps.
import { graphOfPairs } from './graph.js';

const KINDS = {
  u1: Uint8Array, i1: Int8Array, u2: Uint16Array, i2: Int16Array,
  u4: Uint32Array, i4: Int32Array, f4: Float32Array,
};

/** Bytes that are written as base64. */
export function fromBase64(text) {
  const plain = atob(text.trim());
  const out = new Uint8Array(plain.length);
  for (let at = 0; at < out.length; at++) out[at] = plain.charCodeAt(at);
  return out;
}

/** What deflated bytes stand for. */
export async function inflated(bytes) {
  const stream = new Blob([bytes]).stream();
  const plain = stream.pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(plain).arrayBuffer());
}

/** Arrays by name; the bytes of numbers are sorted by their rank. */
export function unpacked(listed, bytes) {
  const out = {};
  let begin = 0;
  for (const [name, kind, length, rows] of listed) {
    const Kind = KINDS[kind];
    const width = Kind.BYTES_PER_ELEMENT;
    const raw = new Uint8Array(length * width);
    for (let rank = 0; rank < width; rank++) {
      for (let at = 0; at < length; at++) {
        raw[at * width + rank] = bytes[begin + rank * length + at];
      }
    }
    begin += raw.length;
    out[name] = Object.assign(new Kind(raw.buffer), { rows });
  }
  return out;
}

/** A matrix of whole numbers, with a scale for every 128 along its longer
 * side (see bcm_pyg.nn.quantize). */
export function fromCodes(arrays, name) {
  const codes = arrays[name];
  const { rows } = codes;
  const scale = arrays[`${name}_scale`];
  const columns = codes.length / rows;
  const isTall = rows > columns;
  const groups = scale.length / (isTall ? columns : rows);
  const out = new Float32Array(codes.length);
  for (let row = 0, at = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++, at++) {
      const group = isTall ? column * groups + (row >> 7)
        : row * groups + (column >> 7);
      out[at] = codes[at] * scale[group];
    }
  }
  return out;
}

/** The graph of the page (see graphOfPairs). */
export function graphOf(arrays, size) {
  return graphOfPairs(size, arrays.pair_count, arrays.pair_gap,
    arrays.pair_way, arrays.pair_cost, arrays.pair_cost_back);
}

/** What MapScorer reads. */
export function mapOf(arrays, about) {
  const width = arrays.bias1.length;
  return {
    scale: about.scale,
    calibrated: about.calibrated,
    hidden: projectedNodes(arrays, width),
    bias1: arrays.bias1,
    weight2: fromCodes(arrays, 'weight2'),
    bias2: arrays.bias2,
    weight3: fromCodes(arrays, 'weight3'),
  };
}

/** h = W1 o of all nodes, [N, H], stored or from the tables of axes. */
function projectedNodes(arrays, width) {
  if (arrays.hidden) return fromCodes(arrays, 'hidden');
  const axes = [];
  for (let axis = 0; arrays[`axis${axis}`]; axis++) {
    const codes = arrays[`axis${axis}`];
    const { rows } = arrays[`table${axis}`];
    axes.push({ codes, table: fromCodes(arrays, `table${axis}`), rows });
  }
  const channels = axes[0].table.length / axes[0].rows;
  const weight = fromCodes(arrays, 'weight1');
  const inputs = weight.length / width;
  const size = axes[0].codes.length;
  const out = new Float32Array(size * width);
  // What an axis alone contributes is the same for all nodes of a code.
  const alone = axes.map(({ table, rows }, axis) => (
    project(table, rows, channels, weight, inputs, axis * channels, width)));
  const joint = new Float32Array(channels);
  for (let node = 0; node < size; node++) {
    const begin = node * width;
    joint.fill(axes.length > 1 ? 1 : 0);
    axes.forEach(({ codes, table }, axis) => {
      const code = codes[node];
      for (let k = 0; k < width; k++) {
        out[begin + k] += alone[axis][code * width + k];
      }
      for (let c = 0; c < channels; c++) joint[c] *= table[code * channels + c];
    });
    if (axes.length === 1) continue;
    const first = axes.length * channels;
    for (let k = 0; k < width; k++) {
      let sum = 0;
      const row = k * inputs + first;
      for (let c = 0; c < channels; c++) sum += weight[row + c] * joint[c];
      out[begin + k] += sum;
    }
  }
  return out;
}

/** Rows of a table times some columns of a weight. */
function project(table, rows, channels, weight, inputs, first, width) {
  const out = new Float32Array(rows * width);
  for (let row = 0; row < rows; row++) {
    for (let k = 0; k < width; k++) {
      let sum = 0;
      for (let c = 0; c < channels; c++) {
        sum += weight[k * inputs + first + c] * table[row * channels + c];
      }
      out[row * width + k] = sum;
    }
  }
  return out;
}

/** All that a page holds, from its description and its texts of bytes. */
export async function openPage(about, texts) {
  const read = async (listed, text) => (
    unpacked(listed, await inflated(fromBase64(text))));
  const arrays = await read(about.arrays, texts[0]);
  const names = arrays.names
    ? JSON.parse(new TextDecoder().decode(arrays.names)) : null;
  const maps = about.maps.map(({ label, arrays: listed }, number) => ({
    label,
    parts: null,
    async open() {
      this.parts ??= mapOf(await read(listed, texts[number + 1]), about);
      return this.parts;
    },
  }));
  return {
    ...graphOf(arrays, about.size),
    about,
    arrays,
    names,
    maps,
    forced: arrays.forced ?? null,
    kernel: fromBase64(about.kernel),
    nameOf: (node) => (names ? names[node] : String(node)),
  };
}
