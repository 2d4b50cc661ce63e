// From the bytes of the page to arrays, a graph and maps.
import { graphOfPairs } from './graph.js';
import { product } from './kernel.js';

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
export function mapOf(arrays, about, kernel) {
  return {
    scale: about.scale,
    calibrated: about.calibrated,
    hidden: projectedNodes(arrays, kernel),
    bias1: arrays.bias1,
    weight2: fromCodes(arrays, 'weight2'),
    bias2: arrays.bias2,
    weight3: fromCodes(arrays, 'weight3'),
  };
}

/** h = W1 o of all nodes, [N, H]: stored, or from the tables of axes. */
export function projectedNodes(arrays, kernel) {
  if (arrays.hidden) {
    const { hidden, hidden_step: [step], hidden_mean: mean } = arrays;
    const { rows } = hidden; // one for each direction
    const size = hidden.length / rows;
    const fill = (node, out) => {
      for (let k = 0; k < rows; k++) out[k] = step * hidden[k * size + node];
    };
    const basis = fromCodes(arrays, 'basis');
    return product(fill, size, basis, rows, mean, kernel);
  }
  const axes = [];
  for (let axis = 0; arrays[`axis${axis}`]; axis++) {
    const codes = arrays[`axis${axis}`];
    axes.push({ codes, table: fromCodes(arrays, `table${axis}`) });
  }
  const channels = axes[0].table.length / arrays.table0.rows;
  const weight = fromCodes(arrays, 'weight1');
  const columns = weight.length / arrays.weight1.rows;
  const fill = (node, out) => { // the axes, then their product
    if (axes.length > 1) out.fill(1, axes.length * channels);
    axes.forEach(({ codes, table }, axis) => {
      const begin = codes[node] * channels;
      for (let c = 0; c < channels; c++) {
        const value = table[begin + c];
        out[axis * channels + c] = value;
        if (axes.length > 1) out[axes.length * channels + c] *= value;
      }
    });
  };
  return product(fill, axes[0].codes.length, weight, columns, [], kernel);
}

/** All that a page holds, from its description and its texts of bytes. */
export async function openPage(about, texts) {
  const read = async (listed, text) => (
    unpacked(listed, await inflated(fromBase64(text))));
  const arrays = await read(about.arrays, texts[0]);
  const names = arrays.names
    ? JSON.parse(new TextDecoder().decode(arrays.names)) : null;
  const kernel = fromBase64(about.kernel);
  const maps = about.maps.map(({ label, arrays: listed }, number) => ({
    label,
    parts: null,
    async open() {
      this.parts ??= mapOf(
        await read(listed, texts[number + 1]), about, kernel);
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
    kernel,
    nameOf: (node) => (names ? names[node] : String(node)),
  };
}
