// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT
//
// Matrices in JavaScript: in memory, as random inputs, and as expected results of operations.

import {bitsOf} from './component_types.mjs';

// Vulkan requires that pointer and stride of a matrix access are aligned to 16 bytes, or to a row
// if that is smaller.
export const ALIGNMENT = 16;
export const POISON = 0xfe;  // a NaN in every float type
export const GRID = {left: [2, 3], right: [3, 2], result: [2, 2]};
export const KINDS = Object.keys(GRID);
export const MAJORNESSES = ['row', 'col'];

/// A matrix in JavaScript: values by rows.
export class Matrix {
  constructor(rows, columns, at) {
    this.rows = rows;
    this.columns = columns;
    this.values = Array.from({length: rows * columns},
                             (_, i) => at(Math.floor(i / columns), i % columns));
  }

  at(row, column) {
    return this.values[row * this.columns + column];
  }

  map(change) {
    return new Matrix(this.rows, this.columns, (row, column) => change(this.at(row, column)));
  }

  tile(rows, columns, tileRow, tileColumn) {
    return new Matrix(rows, columns, (row, column) => this.at(tileRow * rows + row,
                                                              tileColumn * columns + column));
  }
}

/// Where a matrix lies in a buffer: offset and stride count elements of the WGSL array.
export class Place {
  constructor(type, rows, columns, majorness, start, gap = 0) {
    Object.assign(this, {type, rows, columns, majorness, start});
    const minor = majorness === 'row' ? columns : rows;
    const padded = Math.ceil(minor * type.bytes / ALIGNMENT) * ALIGNMENT + gap;
    this.stride = padded / type.elementBytes;
    this.offset = start / type.elementBytes;
    this.end = start + padded * (majorness === 'row' ? rows : columns);
  }

  tile(rows, columns, tileRow, tileColumn) {
    const tile = Object.assign(Object.create(Place.prototype), this, {rows, columns});
    tile.start = this.byteAt(tileRow * rows, tileColumn * columns);
    tile.offset = tile.start / this.type.elementBytes;
    if (!Number.isInteger(tile.offset)) throw new Error('a tile starts within an array element');
    return tile;
  }

  byteAt(row, column) {
    const [major, minor] = this.majorness === 'row' ? [row, column] : [column, row];
    return this.start + major * this.stride * this.type.elementBytes + minor * this.type.bytes;
  }

  /// Array elements from the first to behind the last one.
  get length() {
    const last = this.byteAt(this.rows - 1, this.columns - 1) + this.type.bytes;
    return Math.ceil((last - this.start) / this.type.elementBytes);
  }

  write(view, matrix, codec) {
    for (let row = 0; row < this.rows; row++)
      for (let column = 0; column < this.columns; column++)
        codec.write(view, this.byteAt(row, column), matrix.at(row, column));
  }

  read(view, codec) {
    return new Matrix(this.rows, this.columns,
                      (row, column) => codec.read(view, this.byteAt(row, column)));
  }
}

/// Random inputs. 'bits' is any bit pattern, 'random' any value of a moderate size, 'whole' numbers
/// so small that sums of their products are exact in the result type.
export class Data {
  constructor(shape, filling, random) {
    this.exact = filling !== 'random';
    this.codec = {};
    this.scalars = {};
    this.grids = {};
    for (const use of ['component', 'result']) {
      const type = shape[use];
      this.codec[use] = filling === 'bits' ? bitsOf(type) : type;
      // A number in the type's range, one above and one below it.
      this.scalars[use] = [type.random(random, filling, shape),
                           type.float ? 1 : type.max + 45, type.float ? 1 : type.min - 45];
    }
    for (const kind of KINDS) {
      const codec = this.codec[shape.use(kind)];
      const place = shape.inputs[`${kind} row`];
      this.grids[kind] = new Matrix(place.rows, place.columns, 
                                      () => codec.random(random, filling, shape));
    }
  }

  buffer(shape, use) {
    const view = new DataView(new ArrayBuffer(shape.inputBytes[use]));
    this.scalars[use].forEach((scalar, i) => shape[use].writeElement(view, i, scalar));
    for (const kind of KINDS.filter((kind) => shape.use(kind) === use))
      for (const majorness of MAJORNESSES)
        shape.inputs[`${kind} ${majorness}`].write(view, this.grids[kind], this.codec[use]);
    return view.buffer;
  }
}

/// An expected matrix: values, and the allowed difference of each.
export function exactly(matrix) {
  return {values: matrix, bounds: matrix.map(() => 0)};
}

/// left · right + start. In a sum of n products, each step may be rounded in any direction, in any
/// order. The error is at most γ = n·ε / (1 − n·ε) times the sum of the magnitudes (Higham,
/// Accuracy and Stability of Numerical Algorithms, 3.1), plus the loss by flushing subnormal
/// numbers.
export function product(left, right, start, type, exact) {
  const values = start.map((value) => value), bounds = start.map(() => 0);
  for (let row = 0; row < values.rows; row++) {
    for (let column = 0; column < values.columns; column++) {
      const i = row * values.columns + column;
      let sum = start.at(row, column), magnitude = Math.abs(sum);
      for (let k = 0; k < left.columns; k++) {
        const term = type.multiply(left.at(row, k), right.at(k, column));
        sum = type.add(sum, term);
        magnitude += Math.abs(term);
      }
      values.values[i] = type.wrap(sum);
      const relative = (left.columns + 1) * type.epsilon;
      bounds.values[i] = exact || !type.float ? 0 :
        relative / (1 - relative) * magnitude + (2 * left.columns + 1) * type.tiny;
    }
  }
  return {values, bounds};
}

/// One operation per element, rounded in any direction.
export function elementwise(matrix, type, exact, operation) {
  const values = matrix.map((value) => type.wrap(operation(value)));
  const bounds = values.map((value) => exact || !type.float ? 0 :
    Math.abs(value) * type.epsilon + type.tiny);
  return {values, bounds};
}
