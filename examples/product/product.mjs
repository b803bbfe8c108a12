// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

// Multiplies a tile of matrices by WebGPU, on Dawn in node (npm install webgpu).
//
//    weft-run --layer node product.mjs
//
// A device without subgroup matrices is a failure.

import { create, globals } from 'webgpu';

Object.assign(globalThis, globals);
const FEATURE = 'chromium-experimental-subgroup-matrix';

const gpu = create(['enable-dawn-features=allow_unsafe_apis', 'backend=vulkan']);
const adapter = await gpu.requestAdapter();
if (!adapter?.features.has(FEATURE))
  throw new Error(`${adapter?.info.description ?? 'no adapter'}: no subgroup matrices`);
const found = adapter.info.subgroupMatrixConfigs.find(
    config => config.componentType === 'f32' && config.resultComponentType === 'f32');
if (!found)
  throw new Error(`${adapter.info.description}: no subgroup matrices of f32`);
const {M, N, K} = found;
const device = await adapter.requestDevice({requiredFeatures: [FEATURE]});

// One subgroup makes the product; which invocations that are does not matter to it.
const module = device.createShaderModule({code: `
enable chromium_experimental_subgroup_matrix;
@group(0) @binding(0) var<storage, read_write> a: array<f32, ${M * K}>;
@group(0) @binding(1) var<storage, read_write> b: array<f32, ${K * N}>;
@group(0) @binding(2) var<storage, read_write> product: array<f32, ${M * N}>;

@compute @workgroup_size(${adapter.info.subgroupMaxSize})
fn main() {
  let left = subgroupMatrixLoad<subgroup_matrix_left<f32, ${K}, ${M}>, row_major>(&a, 0, ${K});
  let right = subgroupMatrixLoad<subgroup_matrix_right<f32, ${N}, ${K}>, row_major>(&b, 0, ${N});
  subgroupMatrixStore<row_major>(&product, 0, subgroupMatrixMultiply<f32>(left, right), ${N});
}`});
const pipeline = device.createComputePipeline({layout: 'auto', compute: {module}});

const a = Float32Array.from({length: M * K}, (_, i) => i * 7 % 23 - 11);
const b = Float32Array.from({length: K * N}, (_, i) => i * 5 % 19 - 9);
const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
const buffers = [a.byteLength, b.byteLength, M * N * 4].map(
    size => device.createBuffer({size, usage}));
device.queue.writeBuffer(buffers[0], 0, a);
device.queue.writeBuffer(buffers[1], 0, b);
const read = device.createBuffer(
    {size: M * N * 4, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST});

const encoder = device.createCommandEncoder();
const pass = encoder.beginComputePass();
pass.setPipeline(pipeline);
pass.setBindGroup(0, device.createBindGroup({
  layout: pipeline.getBindGroupLayout(0),
  entries: buffers.map((buffer, binding) => ({binding, resource: {buffer}}))}));
pass.dispatchWorkgroups(1);
pass.end();
encoder.copyBufferToBuffer(buffers[2], 0, read, 0, M * N * 4);
device.queue.submit([encoder.finish()]);
await read.mapAsync(GPUMapMode.READ);
const product = new Float32Array(read.getMappedRange());

product.forEach((got, i) => {
  let expected = 0;
  for (let k = 0; k < K; k++)
    expected += a[Math.floor(i / N) * K + k] * b[k * N + i % N];
  if (got !== expected)
    throw new Error(`element ${i} is ${got} instead of ${expected}`);
});
console.log(`${adapter.info.description}: ${product.length} elements are right`);
device.destroy();
process.exit(0);
