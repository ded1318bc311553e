#!/usr/bin/env node
// The moving picture at the top of the README: the pairs of `fascia demo`, side by side, filmed from its page.
// usage: tools/readme_picture.mjs [DEMO.html]   (not given: build/fascia demo is run first)
// Needs what `make test` installs (node packages, Chromium) and ffmpeg. Writes docs/images/before_after.webp.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { browse } from '../tests/web/browser.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url))), work = mkdtempSync(join(tmpdir(), 'fascia-'));
const out = join(root, 'docs/images/before_after.webp'), [width, height, fps] = [840, 420, 15];
// which frames of each pair of the demo, in its order: first, last, step; and how near
const films = [[8, 76, 2, 'mouth'], [0, 64, 2, 'mouth'], [24, 99, 3, 'head'], [13, 40, 1, 'mouth']];

let page = process.argv[2];
if (!page) {
  execFileSync(join(root, 'build/fascia'), ['demo', '-o', join(work, 'demo')], { stdio: 'inherit' });
  page = join(work, 'demo/demo.html');
}
let frames = 0;
await browse(async (tab) => {
  await tab.setViewportSize({ width, height });
  await tab.goto(`file://${resolve(page)}`);
  await tab.waitForFunction('window.fascia?.ready', null, { timeout: 60000 });
  await tab.addStyleTag({ content: '#top, #bar { display: none !important }' });
  for (const [pair, [first, last, step, focus]] of films.entries()) {
    await tab.keyboard.press(String(pair + 1));
    await tab.evaluate((name) => document.querySelector(`[data-focus=${name}]`).click(), focus);
    for (let f = first; f <= last; f += step) {
      await tab.evaluate((frame) => {
        window.fascia.seek(window.fascia.data.tracks[window.fascia.shown().at(-1).track].times[frame]);
        return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      }, f);
      await tab.screenshot({ path: join(work, `${String(frames++).padStart(4, '0')}.png`) });
    }
  }
});
execFileSync('ffmpeg', ['-v', 'error', '-y', '-framerate', String(fps), '-i', join(work, '%04d.png'), '-c:v', 'libwebp', '-cr_threshold', '0', '-loop', '0', '-quality', '80', '-compression_level', '6', '-an', out]);
rmSync(work, { recursive: true });
console.log(`${out}: ${frames} frames, ${(statSync(out).size / 1e6).toFixed(2)} MB`);
