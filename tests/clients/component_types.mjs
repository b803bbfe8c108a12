// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT
//
// The component types of WGSL's subgroup matrices in JavaScript: how they lie in memory, their
// arithmetic and random values of them.

/// Numbers in [0, 1) from a 32-bit seed (a counter through MurmurHash3's finalizer).
export function randomGenerator(seed) {
  let counter = seed >>> 0;
  return () => {
    counter = (counter + 0x9e3779b9) >>> 0;
    let bits = counter;
    bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
    bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
    return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32;
  };
}

/// Reads a number of the given bytes as an IEEE binary16.
function halfToNumber(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24);
}

/// Rounds to binary16, to nearest even.
function numberToHalf(value) {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0, magnitude = Math.abs(value);
  if (Number.isNaN(value)) return 0x7e00;
  const exponent = Math.max(Math.floor(Math.log2(magnitude || 2 ** -24)), -14);
  const scaled = magnitude * 2 ** (10 - exponent);  // 1024 to 2047 where normal
  const floor = Math.floor(scaled), rest = scaled - floor;
  const rounded = floor + (rest > 0.5 || (rest === 0.5 && floor % 2) ? 1 : 0);
  // A carry out of the fraction goes into the exponent, as rounding up requires.
  const bits = rounded < 1024 ? rounded : (exponent + 14) * 1024 + rounded;
  return sign | Math.min(bits, 0x7c00);
}

class FloatType {
  float = true;
  fillings = ['whole', 'random'];

  /// precision: bits of the significand; tiny: the least normal number.
  constructor(name, bytes, precision, tiny, read, write) {
    Object.assign(this, {name, bytes, precision, tiny, read, write});
    this.element = name;
    this.elementBytes = bytes;
    this.epsilon = 2 ** (1 - precision);
  }

  wrap = (value) => value;
  clamp = (value) => value;
  add = (a, b) => a + b;
  subtract = (a, b) => a - b;
  multiply = (a, b) => a * b;

  /// The number as memory holds it.
  storedScalar(value) {
    const view = new DataView(new ArrayBuffer(4));
    this.write(view, 0, value);
    return this.read(view, 0);
  }

  writeElement(view, index, value) {
    this.write(view, index * this.elementBytes, value);
  }

  random(random, filling, {wholeNumbers: most}) {
    return filling === 'whole' ? Math.floor(random() * (2 * most + 1)) - most :
      this.storedScalar(4 * random() - 2);
  }
}

class IntegerType {
  float = false;
  fillings = ['random'];

  constructor(name, read, write) {
    const bits = parseInt(name.slice(1));
    const signed = name[0] === 'i';
    Object.assign(this, {name, read, write, bytes: bits / 8});
    // WGSL has no arrays of 8-bit integers.
    this.element = (signed ? 'i' : 'u') + 32;
    this.elementBytes = 4;
    this.min = signed ? -(2 ** (bits - 1)) : 0;
    this.max = this.min + 2 ** bits - 1;
  }

  wrap = (value) => {
    const span = this.max - this.min + 1;
    return value - Math.floor((value - this.min) / span) * span;
  };
  clamp = (value) => Math.min(Math.max(value, this.min), this.max);
  // Modulo 2^32 like the widest type.
  add = (a, b) => (a + b) | 0;
  subtract = (a, b) => (a - b) | 0;
  multiply = (a, b) => Math.imul(a, b);

  /// A scalar is handed over as the 32-bit type of the same sign.
  storedScalar(value) {
    return this.min < 0 ? value | 0 : value >>> 0;
  }

  writeElement(view, index, value) {
    view.setInt32(index * this.elementBytes, value | 0, true);
  }

  random(random) {
    return this.min + Math.floor(random() * (this.max - this.min + 1));
  }
}

export const TYPES = {
  f32: new FloatType('f32', 4, 24, 2 ** -126, (view, at) => view.getFloat32(at, true),
                     (view, at, value) => view.setFloat32(at, value, true)),
  f16: new FloatType('f16', 2, 11, 2 ** -14, (view, at) => halfToNumber(view.getUint16(at, true)),
                     (view, at, value) => view.setUint16(at, numberToHalf(value), true)),
  i32: new IntegerType('i32', (view, at) => view.getInt32(at, true),
                       (view, at, value) => view.setInt32(at, value, true)),
  u32: new IntegerType('u32', (view, at) => view.getUint32(at, true),
                       (view, at, value) => view.setUint32(at, value, true)),
  i8: new IntegerType('i8', (view, at) => view.getInt8(at),
                      (view, at, value) => view.setInt8(at, value)),
  u8: new IntegerType('u8', (view, at) => view.getUint8(at),
                      (view, at, value) => view.setUint8(at, value)),
};

/// The bits of a type's numbers as an unsigned integer, for operations that must keep every bit.
export function bitsOf(type) {
  return {
    1: TYPES.u8,
    2: new IntegerType('u16', (view, at) => view.getUint16(at, true),
                       (view, at, value) => view.setUint16(at, value, true)),
    4: TYPES.u32,
  }[type.bytes];
}
