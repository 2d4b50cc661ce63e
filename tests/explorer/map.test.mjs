import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { kernelOf, plainKernel, product } from '../../bcm_pyg/explorer/kernel.js';
import { MapScorer } from '../../bcm_pyg/explorer/map.js';
import { gridGraph, random, randomMap } from './graphs.mjs';

const BYTES = readFileSync(
  new URL('../../bcm_pyg/explorer/kernel.wasm', import.meta.url));
const silu = (x) => x / (1 + Math.exp(-x));

/** z of a pair of nodes, by the definition. */
function plainOutput(parts, source, target) {
  const width = parts.bias1.length;
  const layer = (weight, bias, x) => (
    Array.from({ length: weight.length / x.length }, (_, row) => (
      x.reduce((sum, value, k) => sum + value * weight[row * x.length + k],
        bias?.[row] ?? 0))));
  const x = Array.from(parts.bias1, (bias, k) => silu(
    parts.hidden[target * width + k] - parts.hidden[source * width + k] + bias));
  const y = layer(parts.weight2, parts.bias2, x).map(silu);
  return layer(parts.weight3, null, y);
}

const near = (one, two) => (
  Math.abs(one - two) <= 1e-4 * Math.max(1, Math.abs(two)));

test('compiled functions are there, and agree with their plain twins', () => {
  const [size, width, rows] = [32, 48, 6];
  const memories = [1, 2].map(() => new WebAssembly.Memory({ initial: 1 }));
  const begin = random(9);
  const numbers = Array.from({ length: 16384 }, () => 4 * (begin() - 0.5));
  const [fast, slow] = memories.map((memory) => {
    new Float32Array(memory.buffer).set(numbers);
    return new Float32Array(memory.buffer);
  });
  fast[0] = slow[0] = -100; // where exp would overflow
  fast[1] = slow[1] = 100;
  const kernels = [kernelOf(memories[0], BYTES), plainKernel(memories[1])];
  assert.notEqual(String(kernels[0].layer), String(kernels[1].layer));
  const bias = 4 * (rows * size + size * width);
  for (const kernel of kernels) {
    kernel.silu(0, 4 * rows * size);
    kernel.layer(0, 4 * rows * size, bias, bias + 4 * width, rows, size, width);
  }
  for (let at = 0; at < fast.length; at++) {
    assert.ok(near(fast[at], slow[at]), `${at}: ${fast[at]} ${slow[at]}`);
  }
});

test('products agree with sums', () => {
  const [rows, columns, width] = [67, 5, 19]; // more than a batch, odd sizes
  const next = random(6);
  const numbers = (length) => Float32Array.from({ length }, () => next() - 0.5);
  const [x, weight, bias] = [rows * columns, width * columns, width].map(numbers);
  const fill = (row, out) => (
    out.set(x.subarray(row * columns, (row + 1) * columns)));
  for (const bytes of [BYTES, undefined]) {
    const out = product(fill, rows, weight, columns, bias, bytes);
    assert.equal(out.length, rows * width);
    for (let at = 0; at < out.length; at++) {
      const [row, column] = [Math.floor(at / width), at % width];
      let wanted = bias[column];
      for (let k = 0; k < columns; k++) {
        wanted += x[row * columns + k] * weight[column * columns + k];
      }
      assert.ok(near(out[at], wanted));
    }
  }
});

test('without compiled functions the twins are used', () => {
  const memory = new WebAssembly.Memory({ initial: 1 });
  const kernel = kernelOf(memory, new Uint8Array([1, 2, 3]));
  const all = new Float32Array(memory.buffer);
  all[0] = 1;
  kernel.silu(0, 16);
  assert.ok(near(all[0], silu(1)));
});

for (const [width, last] of [[16, 16], [20, 7], [128, 128]]) {
  test(`scores of width ${width}, ${last} agree with the definition`, () => {
    const graph = gridGraph(4, 1);
    const parts = randomMap(16, width, last, 2);
    const scorer = new MapScorer(graph, parts, BYTES);
    for (const calibrated of [true, false]) {
      scorer.calibrated = calibrated;
      for (const [node, goal] of [[0, 15], [5, 6], [9, 2]]) {
        const score = scorer.scores(node, goal);
        const z = plainOutput(parts, node, goal);
        for (let edge = graph.first[node]; edge < graph.first[node + 1]; edge++) {
          const end = plainOutput(parts, node, graph.head[edge]);
          let wanted = z.reduce((sum, v, k) => sum + (v - end[k]) ** 2, 0);
          if (graph.head[edge] === goal) {
            wanted = calibrated ? graph.cost[edge] / parts.scale : 0;
          }
          assert.ok(near(score[edge - graph.first[node]], wanted));
        }
      }
    }
  });
}

test('values are the least scores, whether edges are kept or not', () => {
  const graph = gridGraph(7, 1);
  const parts = randomMap(49, 32, 16, 4);
  const scorer = new MapScorer(graph, parts, BYTES);
  const reach = new Uint8Array(49).fill(1);
  reach[8] = 0;
  const rounds = [];
  for (let round = 0; round < 2; round++) {
    const out = new Float64Array(49);
    for (let at = 0; at < 49;) at = scorer.valuesInto(out, at, 20, reach);
    rounds.push([...out]);
  }
  assert.deepEqual(rounds[0], rounds[1]);
  assert.equal(rounds[0][20], 0);
  for (let node = 0; node < 49; node++) {
    assert.ok(near(rounds[0][node], scorer.value(node, 20, reach)));
    if (node === 20) continue;
    const score = [...scorer.scores(node, 20)];
    const heads = graph.head.subarray(graph.first[node], graph.first[node + 1]);
    const usable = score.filter((_, edge) => edge < heads.length
      && reach[heads[edge]]);
    assert.ok(near(rounds[0][node], 2.5 * Math.min(...usable)));
  }
});
