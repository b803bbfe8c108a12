// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT
//
// PNG files of 8 bits a colour, not interlaced (ISO/IEC 15948). A picture is
// {width, height, pixels}; pixels are red, green, blue, row by row.

import {crc32, deflateSync, inflateSync} from 'node:zlib';

const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

function chunk(kind, data) {
  const bytes = Buffer.alloc(data.length + 12);
  bytes.writeUInt32BE(data.length, 0);
  bytes.write(kind, 4, 'latin1');
  bytes.set(data, 8);
  bytes.writeUInt32BE(crc32(bytes.subarray(4, -4)), data.length + 8);
  return bytes;
}

export function encodePng({width, height, pixels}) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8);
  const rows = Buffer.alloc(height * (width * 3 + 1));
  for (let y = 0; y < height; y++)
    rows.set(pixels.subarray(y * width * 3, (y + 1) * width * 3), y * (width * 3 + 1) + 1);
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', deflateSync(rows)),
                        chunk('IEND', Buffer.alloc(0))]);
}

// A filter predicts a byte from the bytes left, above, and above left of it.
const predictions = [
  () => 0, (left) => left, (left, above) => above, (left, above) => left + above >> 1,
  (left, above, corner) => {
    const guess = left + above - corner;
    const distances = [left, above, corner].map((value) => Math.abs(guess - value));
    return [left, above, corner][distances.indexOf(Math.min(...distances))];
  }];

export function decodePng(file) {
  if (!file.subarray(0, 8).equals(signature))
    throw new Error('not a PNG file');
  const data = [];
  let header;
  for (let at = 8; at < file.length;) {
    const length = file.readUInt32BE(at), kind = file.toString('latin1', at + 4, at + 8);
    const contents = file.subarray(at + 8, at + 8 + length);
    if (kind === 'IHDR')
      header = contents;
    else if (kind === 'IDAT')
      data.push(contents);
    at += length + 12;
  }
  const width = header.readUInt32BE(0), height = header.readUInt32BE(4);
  if (header[8] !== 8 || header[9] !== 2 || header[12] !== 0)
    throw new Error(`a PNG file of another kind: ${[...header.subarray(8)]}`);
  const rows = inflateSync(Buffer.concat(data)), stride = width * 3;
  const pixels = new Uint8Array(height * stride);
  for (let y = 0; y < height; y++) {
    const predict = predictions[rows[y * (stride + 1)]];
    for (let x = 0; x < stride; x++) {
      const at = y * stride + x;
      const left = x < 3 ? 0 : pixels[at - 3], above = y ? pixels[at - stride] : 0;
      const corner = x < 3 || !y ? 0 : pixels[at - stride - 3];
      pixels[at] = rows[y * (stride + 1) + 1 + x] + predict(left, above, corner);
    }
  }
  return {width, height, pixels};
}
