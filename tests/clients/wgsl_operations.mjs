// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT
//
// WGSL's operations on the WebGPU of the program that runs this, against JavaScript. `ci/clients
// wgpu` runs it in Deno, whose WebGPU is wgpu and whose compiler is naga.
//
//    deno run --unstable-webgpu wgsl_operations.mjs [SEED]

import {randomGenerator} from './component_types.mjs';

const seed = Number(globalThis.Deno?.args[0] ?? Math.floor(Math.random() * 2 ** 32));
const random = randomGenerator(seed);
const count = 256, poison = 0xdeadbeef;

/// name: [expression of WGSL in a, b, c; the same in JavaScript; the error allowed, relative to the
/// result, 0 for the same bits].
const operations = {
  f32: {
    add: ['a + b', (a, b) => a + b, 0], subtract: ['a - b', (a, b) => a - b, 0],
    multiply: ['a * b', (a, b) => a * b, 0], divide: ['a / b', (a, b) => a / b, 1e-6],
    fma: ['fma(a, b, c)', (a, b, c) => a * b + c, 1e-5],
    sqrt: ['sqrt(abs(a))', (a) => Math.sqrt(Math.abs(a)), 1e-6],
    floor: ['floor(a)', (a) => Math.floor(a), 0], ceil: ['ceil(a)', (a) => Math.ceil(a), 0],
    trunc: ['trunc(a)', (a) => Math.trunc(a), 0], abs: ['abs(a)', (a) => Math.abs(a), 0],
    min: ['min(a, b)', (a, b) => Math.min(a, b), 0],
    max: ['max(a, b)', (a, b) => Math.max(a, b), 0],
    clamp: ['clamp(a, -1.5, 2.0)', (a) => Math.min(Math.max(a, -1.5), 2), 0],
    select: ['select(a, b, c > 0.0)', (a, b, c) => c > 0 ? b : a, 0],
    exp: ['exp(a)', (a) => Math.exp(a), 1e-5],
    log: ['log(abs(a))', (a) => Math.log(Math.abs(a)), 1e-4],
    sin: ['sin(a)', (a) => Math.sin(a), 1e-3], tanh: ['tanh(a)', (a) => Math.tanh(a), 1e-4],
    power: ['pow(abs(a), b)', (a, b) => Math.abs(a) ** b, 1e-4],
    convert: ['f32(i32(a))', (a) => Math.trunc(a), 0],
    dot: ['dot(vec3f(a, b, c), vec3f(b, c, a))', (a, b, c) => a * b + b * c + c * a, 1e-4],
  },
  i32: {
    add: ['a + b', (a, b) => a + b | 0, 0], multiply: ['a * b', (a, b) => Math.imul(a, b), 0],
    divide: ['a / max(b, 1)', (a, b) => Math.trunc(a / Math.max(b, 1)), 0],
    remainder: ['a % max(b, 1)', (a, b) => a % Math.max(b, 1) | 0, 0],
    shift: ['a >> (bitcast<u32>(b) & 31u)', (a, b) => a >> (b & 31), 0],
    minimum: ['min(a, b)', (a, b) => Math.min(a, b), 0], sign: ['sign(a)', (a) => Math.sign(a), 0],
    absolute: ['abs(a)', (a) => Math.abs(a) | 0, 0],
    bits: ['extractBits(a, 5u, 9u)', (a) => a << 18 >> 23, 0],
    bytes: ['dot4I8Packed(bitcast<u32>(a), bitcast<u32>(b))',
            (a, b) => [0, 8, 16, 24].reduce(
              (sum, s) => sum + (a << 24 - s >> 24) * (b << 24 - s >> 24), 0), 0],
  },
  u32: {
    subtract: ['a - b', (a, b) => a - b >>> 0, 0],
    multiply: ['a * b', (a, b) => Math.imul(a, b) >>> 0, 0],
    divide: ['a / max(b >> 8u, 1u)', (a, b) => Math.floor(a / Math.max(b >>> 8, 1)), 0],
    shift: ['a << (b & 31u)', (a, b) => a << (b & 31) >>> 0, 0],
    xor: ['(a ^ b) & ~c', (a, b, c) => ((a ^ b) & ~c) >>> 0, 0],
    zeros: ['countLeadingZeros(a)', (a) => Math.clz32(a), 0],
    ones: ['countOneBits(a)', (a) => a.toString(2).replaceAll('0', '').length, 0],
    reverse: ['reverseBits(a)',
              (a) => parseInt([...a.toString(2).padStart(32, '0')].reverse().join(''), 2), 0],
    insert: ['insertBits(a, b, 7u, 11u)', (a, b) => (a & ~(2047 << 7) | (b & 2047) << 7) >>> 0, 0],
    first: ['firstTrailingBit(a | 256u)', (a) => 31 - Math.clz32((a | 256) & -(a | 256)), 0],
  },
};

const arrays = {f32: Float32Array, i32: Int32Array, u32: Uint32Array};
const values = {
  f32: () => Math.fround(8 * random() - 4), i32: () => random() * 2 ** 32 | 0,
  u32: () => random() * 2 ** 32 >>> 0,
};

const programs = Object.entries(operations).flatMap(([type, list]) =>
  Object.entries(list).map(([name, [code, compute, bound]]) => {
    const input = arrays[type].from({length: 3 * count}, values[type]);
    const expected = arrays[type].from({length: count}, (_, i) =>
      compute(input[3 * i], input[3 * i + 1], input[3 * i + 2]));
    return {name: `${type} ${name}`, type, input, expected, bound, groups: count / 64, code: `
@group(0) @binding(0) var<storage, read> input: array<${type}>;
@group(0) @binding(1) var<storage, read_write> output: array<${type}>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  let a = input[3u * id.x]; let b = input[3u * id.x + 1u]; let c = input[3u * id.x + 2u];
  output[id.x] = ${code};
}`};
  }));

function product() {
  const size = 32, input = Float32Array.from({length: 2 * size * size}, values.f32);
  const expected = Float32Array.from({length: size * size}, (_, i) => {
    let sum = 0;
    for (let k = 0; k < size; k++)
      sum += input[Math.floor(i / size) * size + k] * input[size * size + k * size + i % size];
    return sum;
  });
  return {name: 'product by workgroup memory', type: 'f32', input, expected, bound: 1e-4,
          groups: 16, code: `
@group(0) @binding(0) var<storage, read> input: array<f32>;
@group(0) @binding(1) var<storage, read_write> output: array<f32>;
var<workgroup> left: array<f32, 64>;
var<workgroup> right: array<f32, 64>;
@compute @workgroup_size(8, 8) fn main(@builtin(workgroup_id) group: vec3u,
                                       @builtin(local_invocation_id) id: vec3u) {
  let row = group.x / 4u * 8u + id.y; let column = group.x % 4u * 8u + id.x;
  var sum = 0.0;
  for (var k = 0u; k < 32u; k += 8u) {
    left[id.y * 8u + id.x] = input[row * 32u + k + id.x];
    right[id.y * 8u + id.x] = input[1024u + (k + id.y) * 32u + column];
    workgroupBarrier();
    for (var i = 0u; i < 8u; i++) { sum += left[id.y * 8u + i] * right[i * 8u + id.x]; }
    workgroupBarrier();
  }
  output[row * 32u + column] = sum;
}`};
}

function histogram() {
  const input = Uint32Array.from({length: 1024}, values.u32), expected = new Uint32Array(64);
  for (const value of input)
    expected[value >>> 26]++;
  return {name: 'histogram by atomics', type: 'u32', input, expected, bound: 0, groups: 1, code: `
@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> output: array<u32>;
var<workgroup> counts: array<atomic<u32>, 64>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) index: u32) {
  for (var i = index; i < 1024u; i += 64u) { atomicAdd(&counts[input[i] >> 26u], 1u); }
  workgroupBarrier();
  output[index] = atomicLoad(&counts[index]);
}`};
}

async function run(device, {type, input, expected, groups, code}) {
  const create = (data, usage) => {
    const buffer = device.createBuffer({size: data.byteLength, usage, mappedAtCreation: true});
    new Uint8Array(buffer.getMappedRange()).set(new Uint8Array(data.buffer));
    buffer.unmap();
    return buffer;
  };
  const module = device.createShaderModule({code});
  const pipeline = await device.createComputePipelineAsync(
    {layout: 'auto', compute: {module, entryPoint: 'main'}});
  const source = create(input, GPUBufferUsage.STORAGE);
  const result = create(new Uint32Array(expected.length).fill(poison),
                        GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC);
  const readBack = device.createBuffer({size: expected.byteLength,
    usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST});
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, device.createBindGroup({layout: pipeline.getBindGroupLayout(0),
    entries: [source, result].map((buffer, binding) => ({binding, resource: {buffer}}))}));
  pass.dispatchWorkgroups(groups);
  pass.end();
  encoder.copyBufferToBuffer(result, 0, readBack, 0, expected.byteLength);
  device.queue.submit([encoder.finish()]);
  await readBack.mapAsync(GPUMapMode.READ);
  return new arrays[type](readBack.getMappedRange().slice(0));
}

console.log(`seed ${seed}`);
const adapter = await navigator.gpu.requestAdapter();
if (!adapter)
  throw new Error('no adapter');
console.log(`adapter: ${adapter.info.description} ${adapter.info.device}`);
const device = await adapter.requestDevice();
let passed = 0, failed = 0;
for (const program of [...programs, product(), histogram()]) {
  let wrong = [];
  try {
    const got = await run(device, program);
    program.expected.forEach((value, i) => {
      if (!(Math.abs(got[i] - value) <= program.bound * Math.max(1, Math.abs(value))))
        wrong.push(`[${i}] ${got[i]} instead of ${value}`);
    });
  } catch (error) {
    wrong = [error.message];
  }
  console.log(`${wrong.length ? 'FAIL' : 'pass'}  ${program.name}` +
              (wrong.length ? `: ${wrong.length} wrong, ${wrong[0]}` : ''));
  wrong.length ? failed++ : passed++;
}
console.log(`${passed} passed, ${failed} failed`);
Deno.exit(failed || !passed ? 1 : 0);
