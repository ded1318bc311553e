// The pages of fascia blend: sliders that move both faces as the library would, and candidates picked by a click.
// usage: node check_sliders.mjs SLIDERS.html PICK.html [PICTURE.png]     (SLIDERS: targets jawOpen,cheekPuff)
import { resolve } from 'node:path';
import { browse, drawn } from './browser.mjs';

const [sliders, pick, picture] = process.argv.slice(2);
const need = (what, text) => {
  if (!what) throw new Error(text);
};
const open = async (page, path) => {
  await page.goto(`file://${resolve(path)}`);
  await page.waitForFunction('window.fascia?.ready', null, { timeout: 60000 });
  await drawn(page);
};

await browse(async (page) => {
  await open(page, sliders);
  const pull = (target, what, value) =>
    page.evaluate(([i, w, v]) => {
      const s = document.querySelector(`#sliders input[data-target="${i}"][data-what="${w}"]`);
      s.value = v;
      s.dispatchEvent(new Event('input'));
    }, [target, what, value]);
  // weights of docs/method/analytic.md, to the digits that fascia blend prints
  for (const [what, value] of [['t', 0.6], ['m', 1], ['c', 4], ['k', 4]]) await pull(0, what, value);
  await drawn(page);
  const jaw = await page.evaluate(() => {
    const i = window.fascia.data.rigs[0].shapes.findIndex((s) => s.name === 'jawOpen');
    return [0, 1].map((v) => window.fascia.sliders(v)[i]);
  });
  need(Math.abs(jaw[0] - 0.6) < 1e-6, `linear blending is at ${jaw[0]}`);
  need(Math.abs(jaw[1] - 0.567973) < 1e-6, `the forces are at ${jaw[1]}`);
  const [none, low] = await page.evaluate(() => [window.fascia.response({ m: 1, c: 0, k: 4 * Math.PI ** 2 }, 0.5), window.fascia.response({ m: 0.01, c: 1e-9, k: 1e-9 }, 0.5)]);
  need(none === null, 'a spring that swings back to the source is refused');
  need(Math.abs(low - 0.25) < 1e-6, `a mass alone goes as t squared: ${low}`);
  // the shapes' own sliders stand at the weights in force
  const shown = await page.evaluate(() => [...document.querySelectorAll('#shapes label')].find((l) => l.textContent.startsWith('jawOpen')).querySelector('output').textContent);
  need(shown === '0.57', `the shape's slider says ${shown}`);
  if (picture) await page.screenshot({ path: picture });
  await open(page, pick);
  for (const f of [3, 1]) {
    await page.evaluate((frame) => window.fascia.seek(window.fascia.data.tracks[0].times[frame]), f);
    await page.click('#pick');
    await drawn(page);
  }
  const option = await page.evaluate(() => window.fascia.picks());
  need(option === '--pick 1,3', `picked: ${option}`);
  console.log(`page: sliders give jawOpen ${jaw[1].toFixed(6)}; ${option}`);
});
