// Layers of a network in one memory: by WebAssembly, or plainly without it.

/** The functions of kernel.wat in JavaScript: its twin in tests. */
export function plainKernel(memory) {
  const all = new Float32Array(memory.buffer);
  return {
    silu(begin, end) {
      for (let at = begin >> 2; at < end >> 2; at++) {
        all[at] /= 1 + Math.exp(-all[at]);
      }
    },
    layer(x, weight, bias, out, rows, size, width) {
      for (let row = 0; row < rows; row++) {
        const from = (x >> 2) + row * size;
        const to = (out >> 2) + row * width;
        all.copyWithin(to, bias >> 2, (bias >> 2) + width);
        for (let k = 0; k < size; k++) {
          const factor = all[from + k];
          const at = (weight >> 2) + k * width;
          for (let c = 0; c < width; c++) all[to + c] += factor * all[at + c];
        }
      }
    },
  };
}

/** The compiled functions, or their twins where bytes cannot be run. */
export function kernelOf(memory, bytes) {
  try {
    const module = new WebAssembly.Module(bytes);
    const instance = new WebAssembly.Instance(module, { page: { memory } });
    return instance.exports;
  } catch {
    return plainKernel(memory);
  }
}

/** [R, C] as [C, R] with zeros up to `wide` numbers in a row. */
export function turned(matrix, columns, wide) {
  const out = new Float32Array(columns * wide);
  for (let at = 0; at < matrix.length; at++) {
    out[(at % columns) * wide + Math.floor(at / columns)] = matrix[at];
  }
  return out;
}

/**
 * x @ weight.T + bias for x [R, C] and weight [W, C]. Rows of x are written by
 * `fill(row, out)`, so that x need not be there as a whole.
 */
export function product(fill, rows, weight, columns, bias, bytes) {
  const batch = 64;
  const width = weight.length / columns;
  const wide = 16 * Math.ceil(width / 16);
  const sizes = [columns * wide, wide, batch * columns, batch * wide];
  const ends = sizes.map((_, at) => (
    sizes.slice(0, at + 1).reduce((sum, size) => sum + size)));
  const pages = Math.ceil((4 * ends[3]) / 65536);
  const memory = new WebAssembly.Memory({ initial: pages });
  const kernel = kernelOf(memory, bytes);
  const [weights, biases, x, y] = sizes.map((size, at) => (
    new Float32Array(memory.buffer, 4 * (ends[at] - size), size)));
  weights.set(turned(weight, columns, wide));
  biases.set(bias);
  const out = new Float32Array(rows * width);
  for (let first = 0; first < rows; first += batch) {
    const count = Math.min(batch, rows - first);
    for (let row = 0; row < count; row++) {
      fill(first + row, x.subarray(row * columns, (row + 1) * columns));
    }
    kernel.layer(x.byteOffset, weights.byteOffset, biases.byteOffset,
      y.byteOffset, count + (count & 1), columns, wide);
    for (let row = 0; row < count; row++) {
      const begin = row * wide;
      out.set(y.subarray(begin, begin + width), (first + row) * width);
    }
  }
  return out;
}
