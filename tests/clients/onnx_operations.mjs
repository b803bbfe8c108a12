// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT
//
// Operations by ONNX Runtime's WebGPU provider (Dawn inside) and by its CPU provider, with the same
// random inputs.
//
//    node onnx_operations.mjs FOLDER-OF-NPM-PACKAGE-ONNXRUNTIME-NODE [SEED]

import {createRequire} from 'node:module';
import {TYPES, randomGenerator} from './component_types.mjs';
import {normalisedError} from './normalised_error.mjs';
import {modelOf} from './onnx_model.mjs';

const [folder, seed = Math.floor(Math.random() * 2 ** 32)] = process.argv.slice(2);
const onnx = createRequire(import.meta.url)(folder);
const random = randomGenerator(Number(seed));
/// Of the squares, normalised.
const bounds = {float32: 1e-10, float16: 1e-5};
console.log(`seed ${seed}, bounds ${JSON.stringify(bounds)}`);

function operationsOf(type) {
  const tensor = (...dims) => ({type, dims});
  const plain = (operation, inputs, output, attributes = {}) =>
    ({operation, type, inputs, output, attributes});
  const operations = [
    plain('MatMul', [tensor(37, 64), tensor(64, 51)], tensor(37, 51)),
    plain('MatMul', [tensor(3, 64, 96), tensor(3, 96, 128)], tensor(3, 64, 128)),
    plain('Gemm', [tensor(33, 40), tensor(24, 40), tensor(24)], tensor(33, 24), {transB: 1}),
    plain('Conv', [tensor(1, 5, 19, 23), tensor(7, 5, 3, 3), tensor(7)], tensor(1, 7, 10, 12),
          {strides: [2, 2], pads: [1, 1, 1, 1], kernel_shape: [3, 3]}),
    plain('Softmax', [tensor(9, 77)], tensor(9, 77)),
    plain('LayerNormalization', [tensor(6, 200), tensor(200), tensor(200)], tensor(6, 200),
          {epsilon: new Number(1e-5)}),
    plain('Transpose', [tensor(5, 6, 7)], tensor(7, 5, 6), {perm: [2, 0, 1]}),
    plain('Add', [tensor(4, 33, 5), tensor(33, 1)], tensor(4, 33, 5)),
    plain('Tanh', [tensor(300)], tensor(300)),
  ];
  // Weights of four bits. Subgroup matrices would need a subgroup of 32; lavapipe has 8.
  for (const rows of [1, 64]) {
    const K = 128, N = 192;
    operations.push({
      operation: 'MatMulNBits', domain: 'com.microsoft', type, output: tensor(rows, N),
      inputs: [tensor(rows, K), {type: 'uint8', dims: [N, K / 32, 16]}, tensor(N * K / 32)],
      attributes: {K, N, bits: 4, block_size: 32},
    });
  }
  return operations;
}

const sizeOf = ({dims}) => dims.reduce((product, size) => product * size, 1);

// Numbers that a half holds exactly, so that both providers get the same.
const randomValues = (input) => Array.from({length: sizeOf(input)}, () =>
  input.type === 'uint8' ? Math.floor(random() * 256) : TYPES.f16.storedScalar(2 * random() - 1));

function tensorOf({type, dims}, values) {
  if (type === 'uint8')
    return new onnx.Tensor('uint8', Uint8Array.from(values), dims);
  if (type === 'float32')
    return new onnx.Tensor('float32', Float32Array.from(values), dims);
  const halves = new Uint16Array(values.length), view = new DataView(halves.buffer);
  values.forEach((value, i) => TYPES.f16.write(view, 2 * i, value));
  return new onnx.Tensor('float16', halves, dims);
}

function numbersOf({type, data}) {
  if (type === 'float32')
    return data;
  const view = new DataView(data.buffer, data.byteOffset);
  return Array.from({length: data.length}, (_, i) => TYPES.f16.read(view, 2 * i));
}

async function compute(operation, values, provider) {
  const session = await onnx.InferenceSession.create(modelOf(operation), {
    executionProviders: [provider],
    // Otherwise the CPU would silently compute the operations that WebGPU lacks.
    extra: {session: {disable_cpu_ep_fallback: provider === 'webgpu' ? '1' : '0'}},
  });
  const feeds = Object.fromEntries(
    operation.inputs.map((input, i) => [`${i}`, tensorOf(input, values[i])]));
  const {result} = await session.run(feeds);
  return numbersOf(result);
}

let passed = 0, failed = 0;
for (const type of ['float32', 'float16']) {
  for (const operation of operationsOf(type)) {
    const shape = operation.inputs.map(({dims}) => dims.join('×')).join(', ');
    let right = false, text;
    try {
      const values = operation.inputs.map(randomValues);
      const single = JSON.parse(JSON.stringify(operation).replaceAll('float16', 'float32'));
      if (operation.attributes.epsilon)
        single.attributes.epsilon = operation.attributes.epsilon;
      const expected = await compute(single, values, 'cpu');
      const error = normalisedError(await compute(operation, values, 'webgpu'), expected);
      right = error <= bounds[type];
      text = `error ${error.toExponential(1)}`;
    } catch (error) {
      text = error.message;
    }
    console.log(`${right ? 'pass' : 'FAIL'}  ${operation.operation} ${type} ${shape}: ${text}`);
    right ? passed++ : failed++;
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed || !passed ? 1 : 0);
