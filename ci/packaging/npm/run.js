#!/usr/bin/env node
// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

'use strict';

const {spawn} = require('node:child_process');
const os = require('node:os');
const {weftRun} = require('./index.js');

const usage = `usage: weft-vulkan run [option...] PROGRAM [argument...]
       weft-vulkan info [--json] [option...]

run    starts a Vulkan program on Weft's CPU device, with the options of weft-run
info   reports for each device its cooperative matrices, or the reason why it lacks them
`;

const [command, ...others] = process.argv.slice(2);
const options = {run: others, info: ['--info', ...others], '--version': ['--version']}[command];
if (options) {
  const child = spawn(weftRun, options, {stdio: 'inherit'});
  child.on('error', (error) => {
    process.stderr.write(`weft-vulkan: ${error.message}\n`);
    process.exitCode = 125;
  });
  // A signal at this process is meant for the program.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (status, signal) => {
    process.exitCode = signal ? 128 + os.constants.signals[signal] : status;
  });
} else {
  const asked = command === '-h' || command === '--help';
  (asked ? process.stdout : process.stderr).write(usage);
  process.exitCode = asked ? 0 : 2;
}
