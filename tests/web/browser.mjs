// A headless Chromium for the checks: no network, software GL, console errors collected.
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

export async function browse(check) {
  const path = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
  if (!path) {
    console.log('skipped: no Chromium (tools/setup test installs it)');
    process.exit(77); // ctest counts 77 as skipped
  }
  const browser = await chromium.launch({
    executablePath: path,
    args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--disable-background-networking', '--disable-component-update', '--no-first-run', '--disable-sync'],
  });
  const errors = [];
  try {
    const page = await browser.newPage({ viewport: { width: 1200, height: 760 } });
    page.on('console', (m) => m.type() === 'error' && errors.push(m.text()));
    page.on('pageerror', (e) => errors.push(String(e)));
    page.on('request', (r) => /^https?:/.test(r.url()) && !r.url().startsWith('http://fascia.test/') && errors.push(`asks the network: ${r.url()}`));
    await check(page);
  } finally {
    await browser.close();
  }
  if (errors.length) throw new Error(`console: ${errors.join('; ')}`);
}

// Until what was asked for is drawn: on a busy machine seconds.
export const drawn = (page) => page.waitForFunction('!window.fascia.late()', null, { timeout: 60000 });

// Frames of a PC2 file.
export function readPc2(bytes) {
  const v = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const points = v.getInt32(16, true), frames = v.getInt32(28, true);
  return { points, frames, at: (f) => new Float32Array(bytes.buffer.slice(bytes.byteOffset + 32 + f * points * 12, bytes.byteOffset + 32 + (f + 1) * points * 12)) };
}

export function distance(a, b) {
  let most = 0;
  for (let i = 0; i < Math.min(a.length, b.length); i += 3) most = Math.max(most, Math.hypot(a[i] - b[i], a[i + 1] - b[i + 1], a[i + 2] - b[i + 2]));
  return most;
}
