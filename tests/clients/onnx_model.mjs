// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT
//
// Writes ONNX files of one operation: the few messages of onnx.proto that they need, as protocol
// buffers.

const encoder = new TextEncoder();
const types = {float32: 1, uint8: 2, float16: 10};

function varint(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128))
    bytes.push(value % 128 | 128);
  return [...bytes, value];
}

const number = (field, value) => [...varint(field * 8), ...varint(value)];
const bytes = (field, data) => [...varint(field * 8 + 2), ...varint(data.length), ...data];
const text = (field, value) => bytes(field, encoder.encode(value));
const float = (field, value) =>
  [...varint(field * 8 + 5), ...new Uint8Array(Float32Array.of(value).buffer)];

function attribute(name, value) {
  if (Array.isArray(value))
    return bytes(5, [...text(1, name), ...value.flatMap((v) => number(8, v)), ...number(20, 7)]);
  if (value instanceof Number)
    return bytes(5, [...text(1, name), ...float(2, value), ...number(20, 1)]);
  return bytes(5, [...text(1, name), ...number(3, value), ...number(20, 2)]);
}

function tensorOf(field, name, {type, dims}) {
  const shape = dims.flatMap((size) => bytes(1, number(1, size)));
  const tensor = [...number(1, types[type]), ...bytes(2, shape)];
  return bytes(field, [...text(1, name), ...bytes(2, bytes(1, tensor))]);
}

/// inputs and output are {type, dims}; attributes are whole numbers, lists of them, or floats as
/// Number objects. The inputs are named 0, 1, …, the output `result`.
export function modelOf({operation, domain = '', attributes = {}, inputs, output}) {
  const node = [
    ...inputs.flatMap((_, i) => text(1, `${i}`)), ...text(2, 'result'), ...text(4, operation),
    ...Object.entries(attributes).flatMap(([name, value]) => attribute(name, value)),
    ...text(7, domain)];
  const graph = [
    ...bytes(1, node), ...text(2, 'graph'),
    ...inputs.flatMap((input, i) => tensorOf(11, `${i}`, input)),
    ...tensorOf(12, 'result', output)];
  const sets = [['', 17], ['com.microsoft', 1]].flatMap(
    ([name, version]) => bytes(8, [...text(1, name), ...number(2, version)]));
  return Uint8Array.from([...number(1, 8), ...bytes(7, graph), ...sets]);
}
