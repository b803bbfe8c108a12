// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

'use strict';

const {spawnSync} = require('node:child_process');
const path = require('node:path');

/** The unpacked archive: bin, lib, share, licenses. */
const folder = path.join(__dirname, 'weft');
/** The program that sets the variables for Vulkan loaders of any version. */
const weftRun = path.join(folder, 'bin', 'weft-run');

/**
 * Lets Vulkan instances that this process makes from now on find Weft's CPU device, and no other.
 *
 * layer:    the machine's own devices instead, with Weft's layer above them
 * add:      the CPU device beside the machine's own
 * gpu:      the CPU device presents itself as an integrated GPU
 * profile:  the matrices of a vendor's device, such as 'nvidia'
 *
 * Returns the variables of the environment that it set. They are the variables of weft-run, and
 * processes that this one starts inherit them.
 */
function activate({layer = false, add = false, gpu = false, profile} = {}) {
  const options = [layer && '--layer', add && '--add', gpu && '--gpu'].filter(Boolean);
  if (profile !== undefined) options.push('--profile', profile);
  const ran = spawnSync(weftRun, [...options, 'env', '-0'], {encoding: 'utf8'});
  if (ran.error) throw ran.error;
  if (ran.status !== 0) throw new Error(ran.stderr.trim());
  const wanted = new Map();
  for (const line of ran.stdout.split('\0')) {
    const at = line.indexOf('=');
    if (at > 0) wanted.set(line.slice(0, at), line.slice(at + 1));
  }
  const changed = {};
  for (const [name, value] of wanted)
    if (process.env[name] !== value) changed[name] = value;
  for (const name of Object.keys(process.env))
    if (!wanted.has(name)) delete process.env[name];
  Object.assign(process.env, changed);
  return changed;
}

module.exports = {activate, folder, weftRun};
