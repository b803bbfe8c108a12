// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT
//
// Runs the checks of subgroup_matrix.mjs in headless Chromium, as the page subgroup_matrix.html.
//
//    node subgroup_matrix_browser.mjs SCREENSHOT.png [SEED [ONLY]]
//
// The page is served on the loopback address; Chromium is driven through its DevTools protocol over
// a pair of pipes (messages end with a zero byte).

import {spawn} from 'node:child_process';
import {readFile, writeFile} from 'node:fs/promises';
import {createServer} from 'node:http';
import {basename, extname, join} from 'node:path';

const [screenshot, seed = Math.floor(Math.random() * 2 ** 32), only = ''] = process.argv.slice(2);

const CHROMIUM = [
  '--headless', '--window-size=1200,800', '--remote-debugging-pipe', '--no-sandbox',
  '--no-first-run', '--disable-extensions', '--disable-background-networking',
  '--disable-dev-shm-usage', '--user-data-dir=/tmp/chromium',
  // WebGPU on any Vulkan device, with its experimental features.
  '--enable-unsafe-webgpu', '--ignore-gpu-blocklist', '--enable-features=Vulkan',
  '--use-angle=vulkan', '--disable-vulkan-surface', '--disable-gpu-watchdog',
];

async function serve() {
  const types = {'.html': 'text/html', '.mjs': 'text/javascript'};
  const server = createServer(async (request, response) => {
    const name = basename(new URL(request.url, 'http://localhost').pathname);
    try {
      const content = await readFile(join(import.meta.dirname, name));
      response.writeHead(200, {'Content-Type': types[extname(name)] ?? 'text/plain'}).end(content);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  return `http://127.0.0.1:${server.address().port}`;
}

/// A DevTools connection: send(method, parameters) answers with the result.
class Browser {
  constructor() {
    this.process = spawn('chromium', CHROMIUM,
                         {stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe']});
    this.messages = '';  // Chromium's own, for when something goes wrong
    this.process.stderr.setEncoding('utf8').on('data', (text) => { this.messages += text; });
    this.waiting = new Map();
    this.sent = 0;
    let pending = '';
    this.process.stdio[4].setEncoding('utf8').on('data', (text) => {
      const parts = (pending + text).split('\0');
      pending = parts.pop();
      for (const part of parts) {
        const message = JSON.parse(part);
        if (!message.id) {
          this.hear(message);
          continue;
        }
        const {resolve, reject} = this.waiting.get(message.id);
        this.waiting.delete(message.id);
        message.error ? reject(new Error(message.error.message)) : resolve(message.result);
      }
    });
    this.process.on('exit', (code, signal) => {
      for (const {reject} of this.waiting.values())
        reject(new Error(`Chromium ended (${signal ?? code})\n${this.messages}`));
    });
  }

  hear({method, params}) {
    if (method === 'Page.loadEventFired') this.loaded();
    if (method === 'Runtime.consoleAPICalled')
      console.log(params.args.map(({value}) => value).join(' '));
  }

  send(method, params = {}, sessionId = this.session) {
    const id = ++this.sent;
    this.process.stdio[3].write(JSON.stringify({id, method, params, sessionId}) + '\0');
    return new Promise((resolve, reject) => this.waiting.set(id, {resolve, reject}));
  }

  async open() {
    const {targetId} = await this.send('Target.createTarget', {url: 'about:blank'});
    ({sessionId: this.session} = await this.send('Target.attachToTarget',
                                                 {targetId, flatten: true}));
    await this.send('Runtime.enable');
    await this.send('Page.enable');
  }

  /// Loads a page; the value of an expression in it.
  async evaluate(url, expression) {
    const loaded = new Promise((resolve) => { this.loaded = resolve; });
    await this.send('Page.navigate', {url});
    await loaded;
    const {result} = await this.send('Runtime.evaluate', {
      expression, awaitPromise: true, returnByValue: true});
    return result.value;
  }

  async screenshot() {
    const {cssContentSize: {width, height}} = await this.send('Page.getLayoutMetrics');
    const {data} = await this.send('Page.captureScreenshot', {
      captureBeyondViewport: true, clip: {x: 0, y: 0, width, height, scale: 1}});
    return Buffer.from(data, 'base64');
  }
}

const page = `${await serve()}/subgroup_matrix.html?${new URLSearchParams({seed, only})}`;
const browser = new Browser();
let passed = 0, failed = 0;
try {
  const {product} = await browser.send('Browser.getVersion');
  console.log(product);
  await browser.open();
  // While it starts, Chromium may replace its GPU process, and a page's device is gone with the old
  // one: a page without any passed check is loaded again.
  for (let attempt = 0; attempt < 3 && !passed; attempt++)
    [passed, failed] = await browser.evaluate(page, 'globalThis.finished');
  await writeFile(screenshot, await browser.screenshot());
} catch (error) {
  console.log(`FAIL  the browser: ${error.message}`);
  failed++;
}
if (failed) {
  // Messages about the missing desktop are expected.
  const messages = browser.messages.split('\n').filter((line) => line && !line.includes('dbus/'));
  console.log(['Chromium said:', ...messages.slice(-20)].join('\n  '));
}
console.log(`${passed} passed, ${failed} failed`);
browser.process.kill();
process.exit(failed || !passed ? 1 : 0);
