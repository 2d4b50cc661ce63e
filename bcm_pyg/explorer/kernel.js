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
