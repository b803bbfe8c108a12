// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT
//
// Operations by TensorFlow.js on WebGPU and on its own CPU backend, with the same random inputs.
// `ci/clients tfjs` runs it in Deno, whose WebGPU is wgpu.
//
//    deno run --unstable-webgpu --allow-read --allow-env tfjs_operations.mjs FOLDER [SEED]
//
// FOLDER has the npm packages @tensorflow/tfjs-core, tfjs-backend-webgpu and tfjs-backend-cpu.

import {createRequire} from 'node:module';
import {randomGenerator} from './component_types.mjs';
import {normalisedError} from './normalised_error.mjs';

const [folder, seed = Math.floor(Math.random() * 2 ** 32)] = globalThis.Deno.args;
const load = createRequire(import.meta.url);
const tf = load(`${folder}/tfjs-core`);
load(`${folder}/tfjs-backend-cpu`);
load(`${folder}/tfjs-backend-webgpu`);
// Otherwise the CPU would compute operations of few numbers.
tf.env().set('WEBGPU_CPU_FORWARD', false);
const random = randomGenerator(Number(seed));
const bound = 1e-10;  // of the squares, normalised
console.log(`seed ${seed}, bound ${bound}`);

/// [name, shapes of the inputs, operation]
const operations = [
  ['matMul', [[37, 64], [64, 51]], (a, b) => tf.matMul(a, b)],
  ['matMul, transposed', [[3, 64, 37], [3, 51, 64]], (a, b) => tf.matMul(a, b, true, true)],
  ['einsum', [[5, 7, 11], [5, 11, 3]], (a, b) => tf.einsum('bij,bjk->bik', a, b)],
  ['conv2d', [[1, 19, 23, 5], [3, 3, 5, 7]], (a, b) => tf.conv2d(a, b, 2, 'same')],
  ['conv2d, dilated', [[2, 16, 16, 4], [3, 3, 4, 8]],
   (a, b) => tf.conv2d(a, b, 1, 'valid', 'NHWC', 2)],
  ['depthwiseConv2d', [[1, 20, 20, 8], [3, 3, 8, 2]], (a, b) => tf.depthwiseConv2d(a, b, 1, 'same')],
  ['conv2dTranspose', [[1, 9, 9, 6], [3, 3, 4, 6]],
   (a, b) => tf.conv2dTranspose(a, b, [1, 18, 18, 4], 2, 'same')],
  ['maxPool', [[1, 17, 17, 3]], (a) => tf.maxPool(a, 3, 2, 'same')],
  ['avgPool', [[1, 16, 16, 3]], (a) => tf.avgPool(a, 2, 2, 'valid')],
  ['batchNorm', [[2, 8, 8, 6], [6], [6]], (a, mean, offset) =>
    tf.batchNorm(a, mean, tf.add(tf.abs(offset), 1), offset)],
  ['softmax', [[9, 101]], (a) => tf.softmax(a)],
  ['sum', [[33, 129]], (a) => tf.sum(a, 1)], ['mean', [[33, 129]], (a) => tf.mean(a, 0)],
  ['max', [[33, 1029]], (a) => tf.max(a, 1)], ['argMax', [[33, 129]], (a) => tf.argMax(a, 1)],
  ['cumsum', [[7, 65]], (a) => tf.cumsum(a, 1)],
  ['add, broadcast', [[13, 1, 5], [7, 5]], (a, b) => tf.add(a, b)],
  ['relu6', [[1001]], (a) => tf.relu6(tf.mul(a, 4))], ['sigmoid', [[1001]], (a) => tf.sigmoid(a)],
  ['tanh', [[1001]], (a) => tf.tanh(a)], ['erf', [[1001]], (a) => tf.erf(a)],
  ['exp', [[1001]], (a) => tf.exp(a)], ['rsqrt', [[1001]], (a) => tf.rsqrt(tf.add(tf.abs(a), 0.5))],
  ['transpose', [[5, 9, 17, 3]], (a) => tf.transpose(a, [0, 3, 1, 2])],
  ['concat', [[5, 9], [5, 17]], (a, b) => tf.concat([a, b], 1)],
  ['slice', [[20, 30]], (a) => tf.slice(a, [3, 5], [11, 13])],
  ['gather', [[40, 6]], (a) => tf.gather(a, tf.tensor1d([7, 0, 39, 7, 21], 'int32'))],
  ['where', [[400], [400]], (a, b) => tf.where(tf.greater(a, b), a, b)],
  ['pad', [[6, 7]], (a) => tf.pad(a, [[1, 2], [3, 0]], 0.5)],
  ['resizeBilinear', [[1, 12, 9, 4]], (a) => tf.image.resizeBilinear(a, [30, 21])],
  ['topk', [[8, 57]], (a) => tf.topk(a, 5).values],
];

/// The numbers of the result on a backend.
async function compute(backend, [, shapes, operation], values) {
  await tf.setBackend(backend);
  const tensors = shapes.map((shape, i) => tf.tensor(values[i], shape));
  const result = tf.tidy(() => operation(...tensors));
  const numbers = await result.data();
  tf.dispose([result, ...tensors]);
  return numbers;
}

if (!await tf.setBackend('webgpu'))
  console.log('FAIL  TensorFlow.js finds no WebGPU');
let passed = 0, failed = 0;
for (const operation of operations) {
  const [name, shapes] = operation;
  let right = false, text;
  try {
    const values = shapes.map((shape) => Float32Array.from(
      {length: shape.reduce((a, b) => a * b)}, () => 2 * random() - 1));
    const expected = await compute('cpu', operation, values);
    const error = normalisedError(await compute('webgpu', operation, values), expected);
    right = tf.getBackend() === 'webgpu' && error <= bound;
    text = `error ${error.toExponential(1)}`;
  } catch (error) {
    text = error.message;
  }
  console.log(`${right ? 'pass' : 'FAIL'}  ${name} ${shapes.map((s) => s.join('×')).join(', ')}: ${text}`);
  right ? passed++ : failed++;
}
console.log(`${passed} passed, ${failed} failed`);
Deno.exit(failed || !passed ? 1 : 0);
