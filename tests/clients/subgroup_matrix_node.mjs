// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT
//
// Runs the checks of subgroup_matrix.mjs on Dawn in node.
//
//    node subgroup_matrix_node.mjs FOLDER-OF-NPM-PACKAGE-WEBGPU [SEED [ONLY]]

import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';
import {checkSubgroupMatrices, lineOf} from './subgroup_matrix.mjs';

const [folder, seed = Math.floor(Math.random() * 2 ** 32), only] = process.argv.slice(2);
const {create, globals} = await import(pathToFileURL(join(resolve(folder), 'index.js')));
Object.assign(globalThis, globals);

let passed = 0, failed = 0;
const count = (check) => {
  console.log(lineOf(check));
  check.problem === null ? passed++ : failed++;
};
try {
  await checkSubgroupMatrices(
    create(['enable-dawn-features=allow_unsafe_apis', 'backend=vulkan']),
    {seed: Number(seed), only, say: console.log, report: count});
} catch (error) {
  count({name: 'the run', problem: error.message});
}
console.log(`${passed} passed, ${failed} failed`);
// Dawn's threads would keep node alive.
process.exit(failed || !passed ? 1 : 0);
