// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT
//
// Checks WGSL subgroup matrices on a WebGPU device, in node and in a browser alike. For every entry
// of adapter.info.subgroupMatrixConfigs, compares products, loads, stores, constructors and scalar
// operations with plain JavaScript.
//
// A configuration has two programs. One can do every operation on every kind of access; each of
// its workgroups reads from a buffer which ones to do, so that checks cost no further compilation.
// The other multiplies a grid of tiles as a real kernel does.
//
// The inputs are a 2x3 grid of left tiles, a 3x2 grid of right tiles and a 2x2 grid of result
// tiles. Each exists row-major and column-major, so each tile has another offset and stride. Every
// check stores one matrix. All other bytes of the output buffers must keep their poison.
//
//    inputs (of the component type, of the result type)      outputs
//    +---------+--------------+-----------------+            +-------+---+-------+---+----
//    | scalars | grid by rows | grid by columns | …          | check |gap| check |gap| …
//    +---------+--------------+-----------------+            +-------+---+-------+---+----

import {TYPES, randomGenerator} from './component_types.mjs';
import {
  ALIGNMENT, Data, GRID, KINDS, MAJORNESSES, Matrix, POISON, Place, elementwise, exactly, product,
} from './matrices.mjs';

/// Ways to access a matrix; the shader knows them by their index, and 0 as no access.
const WAYS = [null, ...['storage', 'workgroup'].flatMap(
  (memory) => MAJORNESSES.map((majorness) => ({memory, majorness})))];
const EVERY_WAY = WAYS.slice(1);
const OPERATIONS = ['none', 'multiply', 'multiply-accumulate', 'construct empty',
                    'construct of a constant', 'construct of a value', 'scalar add',
                    'scalar subtract', 'scalar multiply'];

/// The two forms of accesses in WGSL. The first has majorness among the template's parameters,
/// offset and stride in elements of the array. The second, of the proposal and older compilers, has
/// majorness as an argument and counts components of the matrix; an array element holds one or
/// four.
const DIALECTS = [
  {
    load: ({type, majorness, array, offset, stride}) =>
      `subgroupMatrixLoad<${type}, ${majorness}_major>(&${array}, ${offset}, ${stride})`,
    store: ({majorness, array, offset, stride}, value) =>
      `subgroupMatrixStore<${majorness}_major>(&${array}, ${offset}, ${value}, ${stride});`,
  },
  {
    load: ({type, majorness, array, offset, stride, components}) =>
      `subgroupMatrixLoad<${type}>(&${array}, (${offset}) * ${components}, ${
        majorness === 'col'}, (${stride}) * ${components})`,
    store: ({majorness, array, offset, stride, components}, value) =>
      `subgroupMatrixStore(&${array}, (${offset}) * ${components}, ${value}, ${
        majorness === 'col'}, (${stride}) * ${components});`,
  },
];

/// Everything that depends only on the configuration and the compiler.
class Shape {
  constructor(config, dialect) {
    const {M, N, K} = config;
    this.dialect = dialect;
    this.component = TYPES[config.componentType];
    this.result = TYPES[config.resultComponentType];
    this.title = `${config.componentType}→${config.resultComponentType} ${M}×${N}×${K}`;
    this.sizes = {left: [M, K], right: [K, N], result: [M, N]};
    // Whole numbers up to this size make sums of products, the longest of a check and the number
    // that it starts from, that are exact in either type.
    const precision = Math.min(this.component.precision ?? 32, this.result.precision ?? 32);
    this.wholeNumbers = Math.min(
      Math.floor(Math.sqrt(2 ** precision / (GRID.left[1] * K + 1))), 100);
    this.inputs = {};
    const ends = {component: ALIGNMENT, result: ALIGNMENT};
    for (const kind of KINDS) {
      const [rows, columns] = this.sizes[kind].map((size, i) => size * GRID[kind][i]);
      for (const majorness of MAJORNESSES) {
        const use = this.use(kind);
        const place = new Place(this[use], rows, columns, majorness, ends[use]);
        ends[use] = place.end;
        this.inputs[`${kind} ${majorness}`] = place;
      }
    }
    this.inputBytes = ends;
  }

  /// The type of a matrix of this kind: the component's or the result's.
  use(kind) {
    return kind === 'result' ? 'result' : 'component';
  }

  type(kind) {
    return this[this.use(kind)];
  }

  /// The description of a matrix in memory for the dialects, with offset and stride in WGSL.
  access(kind, majorness, array, offset, stride) {
    const {elementBytes, bytes} = this.type(kind);
    return {type: wgslName(kind), majorness, array, offset, stride,
            components: elementBytes / bytes};
  }

  wgslHead(lanes) {
    const [{name: T}, {name: R}] = [this.component, this.result];
    const [[M, K], [, N]] = [this.sizes.left, this.sizes.right];
    return `enable chromium_experimental_subgroup_matrix;
${[T, R].includes('f16') ? 'enable f16;' : ''}
const lanes = ${lanes}u;
alias Left = subgroup_matrix_left<${T}, ${K}, ${M}>;
alias Right = subgroup_matrix_right<${T}, ${N}, ${K}>;
alias Result = subgroup_matrix_result<${R}, ${N}, ${M}>;
@group(0) @binding(0) var<storage, read> component_in: array<${this.component.element}>;
@group(0) @binding(1) var<storage, read> result_in: array<${this.result.element}>;
@group(0) @binding(2) var<storage, read_write> component_out: array<${this.component.element}>;
@group(0) @binding(3) var<storage, read_write> result_out: array<${this.result.element}>;
`;
  }
}

const wgslName = (kind) => kind[0].toUpperCase() + kind.slice(1);

/// A tile of an input grid, drawn at random, and the way by which it is loaded.
class Operand {
  constructor(shape, kind, way, random) {
    Object.assign(this, {shape, kind, way});
    this.tileRow = Math.floor(random() * GRID[kind][0]);
    this.tileColumn = Math.floor(random() * GRID[kind][1]);
    this.place = shape.inputs[`${kind} ${way.majorness}`].tile(
      ...shape.sizes[kind], this.tileRow, this.tileColumn);
  }

  value(data) {
    return data.grids[this.kind].tile(...this.shape.sizes[this.kind], this.tileRow,
                                      this.tileColumn);
  }
}

/// One stored matrix: its operation and operands, its place in memory, and its expected value.
class Check {
  constructor(group, name, {operation = 'none', scalar = 0, operands = [], kind, way, expected}) {
    Object.assign(this, {group, name, operation, scalar, operands, kind, way, expected});
  }

  size(shape) {
    return shape.sizes[this.kind];
  }

  /// Numbers that may be NaNs suit only operations that keep every bit.
  holdsFor(filling) {
    return (filling === 'bits') === (this.group === 'load and store');
  }

  /// As struct Check of the shader.
  words() {
    const access = (way, place) => way ?
      [WAYS.findIndex((one) => one?.memory === way.memory && one.majorness === way.majorness),
       place.offset, place.stride, place.length] : [0, 0, 0, 0];
    const operand = (kind) => {
      const {way, place} = this.operands.find((one) => one.kind === kind) ?? {};
      return access(way, place);
    };
    return [OPERATIONS.indexOf(this.operation), this.scalar, KINDS.indexOf(this.kind), 0,
            ...KINDS.flatMap(operand), ...access(this.way, this.place)];
  }
}

const nameOf = ({memory, majorness}) => `${memory} by ${majorness}`;

function* loadAndStoreChecks(shape, random) {
  for (const kind of KINDS) {
    for (const from of EVERY_WAY) {
      for (const way of EVERY_WAY) {
        const operand = new Operand(shape, kind, from, random);
        yield new Check('load and store', `${kind} from ${nameOf(from)} to ${nameOf(way)}`, {
          operands: [operand], kind, way, expected: (data) => exactly(operand.value(data))});
      }
    }
  }
}

function* productChecks(shape, random) {
  const zero = new Matrix(...shape.sizes.result, () => 0);
  const anyWay = () => EVERY_WAY[Math.floor(random() * EVERY_WAY.length)];
  for (const leftWay of EVERY_WAY) {
    for (const rightWay of EVERY_WAY) {
      const left = new Operand(shape, 'left', leftWay, random);
      const right = new Operand(shape, 'right', rightWay, random);
      const start = new Operand(shape, 'result', anyWay(), random);
      const how = `left from ${nameOf(leftWay)}, right from ${nameOf(rightWay)}`;
      yield new Check('products', `multiply, ${how}`, {
        operation: 'multiply', operands: [left, right], kind: 'result', way: anyWay(),
        expected: (data) =>
          product(left.value(data), right.value(data), zero, shape.result, data.exact)});
      yield new Check('products', `multiply-accumulate, ${how}`, {
        operation: 'multiply-accumulate', operands: [left, right, start], kind: 'result',
        way: anyWay(), expected: (data) =>
          product(left.value(data), right.value(data), start.value(data), shape.result,
                  data.exact)});
    }
  }
}

function* constructorAndScalarChecks(shape, random) {
  const [way, otherWay] = EVERY_WAY;
  for (const kind of KINDS) {
    const type = shape.type(kind), use = shape.use(kind);
    const constructed = (from, at) => new Check('constructors', `${kind} constructed ${from}`, {
      operation: from === 'empty' ? 'construct empty' : `construct ${from}`, kind, way,
      expected: (data) =>
        exactly(new Matrix(...shape.sizes[kind], () => type.wrap(at(data))))});
    yield constructed('empty', () => 0);
    yield constructed('of a constant', () => 3);
    yield constructed('of a value', (data) => data.scalars[use][0]);
    const operations = {add: type.add, subtract: type.subtract, multiply: type.multiply};
    for (const [name, operation] of Object.entries(operations)) {
      // Only types narrower than the shader's scalar can get a number out of their range.
      for (const scalar of type.bytes === 1 ? [0, 1, 2] : [0]) {
        const operand = new Operand(shape, kind, scalar % 2 ? otherWay : way, random);
        const title = ['', ', clamped above', ', clamped below'][scalar];
        yield new Check('scalars', `${kind} scalar ${name}${title}`, {
          operation: `scalar ${name}`, scalar, operands: [operand], kind, way,
          expected: (data) => elementwise(operand.value(data), type, data.exact, (value) =>
            operation(value, type.clamp(type.storedScalar(data.scalars[use][scalar]))))});
      }
    }
  }
}

/// A number of workgroups that run checks, with the places of their outputs.
class Program {
  constructor(shape, fillings, checks, workgroups) {
    Object.assign(this, {shape, fillings, checks, workgroups});
    this.outputBytes = {component: 0, result: 0};
    for (const check of checks) {
      const use = shape.use(check.kind);
      check.place = new Place(shape[use], ...check.size(shape), check.way.majorness,
                              this.outputBytes[use] + ALIGNMENT, ALIGNMENT);
      this.outputBytes[use] = check.place.end;
    }
    for (const use in this.outputBytes) this.outputBytes[use] += ALIGNMENT;
  }
}

/// Every operation and every access once; a workgroup for each check.
class OperationsProgram extends Program {
  constructor(shape, fillings, checks) {
    super(shape, fillings, checks, checks.length);
    // Workgroup memory for the longest of each kind of matrix, off its beginning by a margin.
    this.shared = Object.fromEntries(KINDS.map((kind) => [kind, 0]));
    for (const check of checks)
      for (const {kind, way, place} of [...check.operands, check])
        if (way.memory === 'workgroup')
          this.shared[kind] = Math.max(this.shared[kind], place.length);
  }

  words() {
    return new Uint32Array(this.checks.flatMap((check) => check.words())).buffer;
  }

  margin(kind) {
    return ALIGNMENT / this.shape.type(kind).elementBytes;
  }

  load(kind) {
    const {shape} = this, use = shape.use(kind), from = `check.${kind}`, margin = this.margin(kind);
    return `switch ${from}.way {${EVERY_WAY.map(({memory, majorness}, i) => {
      const shared = memory === 'workgroup';
      const load = shape.dialect.load(shape.access(
        kind, majorness, shared ? `shared_${kind}` : `${use}_in`,
        shared ? margin : `${from}.offset`, `${from}.stride`));
      const fill = shared ?
        copy(`shared_${kind}`, margin, `${use}_in`, `${from}.offset`, `${from}.length`) : '';
      return `
    case ${i + 1} {
      ${fill}${kind} = ${load};
    }`;
    }).join('')}
    default { }
  }`;
  }

  store(kind) {
    const {shape} = this, out = `${shape.use(kind)}_out`, margin = this.margin(kind);
    return `switch check.out.way {${EVERY_WAY.map(({memory, majorness}, i) => {
      const shared = memory === 'workgroup', array = `shared_${kind}`;
      const store = shape.dialect.store(shape.access(
        kind, majorness, shared ? array : out, shared ? margin : 'check.out.offset',
        'check.out.stride'), kind);
      return `
    case ${i + 1} {
      ${shared ? copy(array, margin, out, 'check.out.offset', 'check.out.length') + store +
        copy(out, 'check.out.offset', array, margin, 'check.out.length') : store}
    }`;
    }).join('')}
    default { }
  }`;
  }

  wgsl(lanes) {
    const {shape} = this;
    const each = (change) => KINDS.map((kind) => `${kind} = ${change(
      kind, `${shape.use(kind)}_in[check.scalar]`)};`).join(' ');
    const operations = [
      '',
      `result = subgroupMatrixMultiply<${shape.result.name}>(left, right);`,
      'result = subgroupMatrixMultiplyAccumulate(left, right, result);',
      each((kind) => `${wgslName(kind)}()`),
      each((kind) => `${wgslName(kind)}(3)`),
      each((kind, scalar) => `${wgslName(kind)}(${scalar})`),
      each((kind, scalar) => `subgroupMatrixScalarAdd(${kind}, ${scalar})`),
      each((kind, scalar) => `subgroupMatrixScalarSubtract(${kind}, ${scalar})`),
      each((kind, scalar) => `subgroupMatrixScalarMultiply(${kind}, ${scalar})`),
    ];
    return `${shape.wgslHead(lanes)}
struct Access { way: u32, offset: u32, stride: u32, length: u32 }
struct Check {
  operation: u32, scalar: u32, kind: u32, unused: u32,
  left: Access, right: Access, result: Access, out: Access,
}
@group(0) @binding(4) var<storage, read> checks: array<Check>;
${KINDS.map((kind) => `var<workgroup> shared_${kind}: array<${
      shape.type(kind).element}, ${this.shared[kind] + 2 * this.margin(kind)}>;`).join('\n')}

@compute @workgroup_size(lanes)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3u) {
  let check = checks[group.x];
  var left: Left;
  var right: Right;
  var result: Result;
  ${KINDS.map((kind) => this.load(kind)).join('\n  ')}
  switch check.operation {${operations.map((code, i) => `
    case ${i} { ${code} }`).join('')}
    default { }
  }
  switch check.kind {${KINDS.map((kind, i) => `
    case ${i} {
  ${this.store(kind)}
    }`).join('')}
    default { }
  }
}
`;
  }
}

/// WGSL by which the whole workgroup copies array elements.
function copy(to, toOffset, from, fromOffset, length) {
  return `workgroupBarrier();
      for (var i = lane; i < ${length}; i += lanes) { ${to}[${toOffset} + i] = ${from}[${
    fromOffset} + i]; }
      workgroupBarrier();
      `;
}

/// The product of the whole grids: a workgroup for each row of tiles, a loop over the tiles of a
/// sum, an array of accumulators in a function's variable.
class TiledProgram extends Program {
  constructor(shape, fillings) {
    const check = new Check('tiled product', `product of ${GRID.left.join('×')} and ${
      GRID.right.join('×')} tiles`, {
      kind: 'result', way: {memory: 'storage', majorness: 'row'}, expected: (data) =>
        product(data.grids.left, data.grids.right, data.grids.result, shape.result, data.exact)});
    check.size = ({inputs: {'result row': {rows, columns}}}) => [rows, columns];
    super(shape, fillings, [check], GRID.left[0]);
  }

  words() {
    return new Uint32Array([GRID.right[1]]).buffer;
  }

  wgsl(lanes) {
    const {shape, checks: [{place: out}]} = this;
    const tile = (kind, array, place, row, column) => {
      const step = (byRow) => place.tile(...shape.sizes[kind], byRow ? 1 : 0, byRow ? 0 : 1)
        .offset - place.offset;
      return shape.access(kind, place.majorness, array, `${place.offset} + ${row} * ${
        step(true)} + ${column} * ${step(false)}`, place.stride);
    };
    const {load, store} = shape.dialect;
    const {'left row': left, 'right col': right, 'result col': start} = shape.inputs;
    return `${shape.wgslHead(lanes)}
@group(0) @binding(4) var<storage, read> columns: u32;

@compute @workgroup_size(lanes)
fn main(@builtin(workgroup_id) group: vec3u) {
  _ = u32(component_out[0]);
  var sums: array<Result, ${GRID.right[1]}>;
  for (var j = 0u; j < columns; j++) {
    sums[j] = ${load(tile('result', 'result_in', start, 'group.x', 'j'))};
  }
  for (var k = 0u; k < ${GRID.left[1]}; k++) {
    let left = ${load(tile('left', 'component_in', left, 'group.x', 'k'))};
    for (var j = 0u; j < columns; j++) {
      let right = ${load(tile('right', 'component_in', right, 'k', 'j'))};
      sums[j] = subgroupMatrixMultiplyAccumulate(left, right, sums[j]);
    }
  }
  for (var j = 0u; j < columns; j++) {
    ${store(tile('result', 'result_out', out, 'group.x', 'j'), 'sums[j]')}
  }
}
`;
  }
}

async function compile(device, code) {
  const module = device.createShaderModule({code});
  const {messages} = await module.getCompilationInfo();
  const wrong = messages.find(({type}) => type === 'error');
  if (wrong) throw new Error(`WGSL line ${wrong.lineNum}: ${wrong.message}`);
  return module;
}

/// Does the work without validation errors on the console.
async function quietly(device, work) {
  device.pushErrorScope('validation');
  try {
    return await work();
  } finally {
    await device.popErrorScope();
  }
}

async function buildPipeline(device, code) {
  return quietly(device, async () => device.createComputePipelineAsync(
    {layout: 'auto', compute: {module: await compile(device, code)}}));
}

/// The first dialect that the device's compiler takes.
async function chooseDialect(device) {
  for (const dialect of DIALECTS) {
    const code = `enable chromium_experimental_subgroup_matrix;
@group(0) @binding(0) var<storage, read_write> numbers: array<u32>;
@compute @workgroup_size(1) fn main() {
  ${dialect.store({majorness: 'row', array: 'numbers', offset: 0, stride: 8, components: 1},
                  'subgroup_matrix_result<u32, 8, 8>()')}
}`;
    if (await quietly(device, () => compile(device, code)).catch(() => null)) return dialect;
  }
  throw new Error('the compiler takes no known form of subgroupMatrixStore');
}

/// Runs the pipeline once; the bytes of its two output buffers.
async function dispatch(device, pipeline, program, data) {
  const buffers = [];
  const make = (usage, bytes) => {
    const size = Math.ceil(bytes.byteLength / ALIGNMENT) * ALIGNMENT;
    const buffer = device.createBuffer({size, usage: GPUBufferUsage.STORAGE | usage,
                                        mappedAtCreation: true});
    new Uint8Array(buffer.getMappedRange()).set(new Uint8Array(bytes));
    buffer.unmap();
    buffers.push(buffer);
    return buffer;
  };
  const inputs = ['component', 'result'].map((use) => make(0, data.buffer(program.shape, use)));
  const words = make(0, program.words());
  const outputs = ['component', 'result'].map((use) => make(
    GPUBufferUsage.COPY_SRC, new Uint8Array(program.outputBytes[use]).fill(POISON).buffer));
  const results = outputs.map(({size}) => device.createBuffer(
    {size, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ}));
  const group = device.createBindGroup({
    layout: pipeline.getBindGroupLayout(0),
    entries: [...inputs, ...outputs, words].map(
      (buffer, binding) => ({binding, resource: {buffer}})),
  });
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  pass.dispatchWorkgroups(program.workgroups);
  pass.end();
  outputs.forEach((output, i) => encoder.copyBufferToBuffer(output, 0, results[i], 0,
                                                            output.size));
  device.queue.submit([encoder.finish()]);
  await Promise.all(results.map((result) => result.mapAsync(GPUMapMode.READ)));
  const [component, result] = results.map((buffer) => buffer.getMappedRange().slice(0));
  [...buffers, ...results].forEach((buffer) => buffer.destroy());
  return {component: new DataView(component), result: new DataView(result)};
}

/// The difference of a stored matrix from the expected one, or null.
function difference(check, data, view, use) {
  const {values, bounds} = check.expected(data);
  const stored = check.place.read(view, data.codec[use]);
  // Written so that a NaN counts as wrong.
  const isWrong = (i) => !(Math.abs(stored.values[i] - values.values[i]) <= bounds.values[i]);
  const wrong = values.values.flatMap((_, i) => isWrong(i) ? [i] : []);
  if (!wrong.length) return null;
  const [i] = wrong, [row, column] = [Math.floor(i / values.columns), i % values.columns];
  const bound = bounds.values[i] ? ` ± ${bounds.values[i].toPrecision(3)}` : '';
  return `${wrong.length} of ${values.values.length} elements wrong, the first is [${row},${
    column}]: ${stored.values[i]} for ${values.values[i]}${bound}`;
}

/// The bytes outside of all matrices that lost their poison, or null.
function spill(program, views) {
  for (const use of ['component', 'result']) {
    const free = new Uint8Array(views[use].byteLength).fill(1);
    for (const {kind, place} of program.checks) {
      if (program.shape.use(kind) !== use) continue;
      for (let row = 0; row < place.rows; row++)
        for (let column = 0; column < place.columns; column++)
          free.fill(0, place.byteAt(row, column), place.byteAt(row, column) + place.type.bytes);
    }
    for (let i = 0; i < program.outputBytes[use]; i++) {
      if (free[i] && views[use].getUint8(i) !== POISON)
        return `byte ${i} of the ${use} outputs is overwritten`;
    }
  }
  return null;
}

async function runProgram(device, program, lanes, random, report) {
  const {shape} = program;
  const firstLine = ({message}) => message.trim().split('\n')[0];
  let pipeline, problem = null;
  try {
    pipeline = await buildPipeline(device, program.wgsl(lanes));
  } catch (error) {
    problem = `no pipeline: ${firstLine(error)}`;
  }
  for (const filling of program.fillings) {
    const data = new Data(shape, filling, random);
    let views = null;
    if (!problem) {
      device.pushErrorScope('validation');
      views = await dispatch(device, pipeline, program, data);
      const error = await device.popErrorScope();
      if (error) problem = firstLine(error);
    }
    const told = (group, name, found) => report({
      config: shape.title, group, problem: problem ?? found(),
      name: filling === 'bits' ? name : `${name}, ${filling} numbers`});
    for (const check of program.checks.filter((check) => check.holdsFor(filling))) {
      const use = shape.use(check.kind);
      told(check.group, check.name, () => difference(check, data, views[use], use));
    }
    told('spills', `nothing written besides ${program.checks.length} matrices`,
         () => spill(program, views));
  }
}

/// A check as a line of text.
export function lineOf({config, name, problem}) {
  const what = config ? `${config} ${name}` : name;
  return problem === null ? `ok    ${what}` : `FAIL  ${what}: ${problem}`;
}

/// Runs all checks. Calls report({config, group, name, problem}) for each; the problem is null if
/// it passed. say(text) announces the device and the configurations. Throws if no check can run.
export async function checkSubgroupMatrices(gpu, {seed, only = '', say, report}) {
  const adapter = await gpu.requestAdapter();
  if (!adapter) throw new Error('there is no WebGPU adapter');
  const {info} = adapter;
  say(`${info.device || info.architecture || 'device'}: ${info.description || info.vendor}, ${
    info.subgroupMinSize} to ${info.subgroupMaxSize} lanes; seed ${seed}`);
  const needed = ['subgroups', 'chromium-experimental-subgroup-matrix'];
  const missing = needed.filter((feature) => !adapter.features.has(feature));
  if (missing.length) throw new Error(`the adapter lacks ${missing.join(' and ')}`);
  const configs = [...info.subgroupMatrixConfigs];
  if (!configs.length) throw new Error('the adapter has no configuration');
  say(`${configs.length} configurations: ${
    configs.map((config) => new Shape(config).title).join(', ')}`);
  const device = await adapter.requestDevice({
    requiredFeatures: [...needed, ...adapter.features.has('shader-f16') ? ['shader-f16'] : []],
    requiredLimits: {maxComputeWorkgroupStorageSize: adapter.limits.maxComputeWorkgroupStorageSize},
  });
  let lost = null;
  device.lost.then(({message}) => { lost = message; });
  const random = randomGenerator(seed);
  const dialect = await chooseDialect(device);
  for (const config of configs) {
    const shape = new Shape(config, dialect);
    if (!shape.title.includes(only)) continue;
    const checks = [...loadAndStoreChecks(shape, random), ...productChecks(shape, random),
                    ...constructorAndScalarChecks(shape, random)];
    const {fillings} = shape.result;
    for (const program of [new OperationsProgram(shape, ['bits', ...fillings], checks),
                           new TiledProgram(shape, fillings)]) {
      await runProgram(device, program, info.subgroupMaxSize, random, report);
      if (lost) throw new Error(`the device is lost: ${lost}`);
    }
  }
  device.destroy();
}
