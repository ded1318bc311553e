// The page of an edit in a browser: both tracks step from the neutral, muscles with them, and a muscle that is picked shows its way.
// usage: node check_ways.mjs PAGE.html MUSCLE [PICTURE.png]      (MUSCLE: one that was edited)
import { resolve } from 'node:path';
import { browse, distance, drawn } from './browser.mjs';

const [pagePath, name, picture] = process.argv.slice(2);
const need = (what, text) => {
  if (!what) throw new Error(text);
};

await browse(async (page) => {
  await page.goto(`file://${resolve(pagePath)}`);
  await page.waitForFunction('window.fascia?.ready', null, { timeout: 60000 });
  await page.waitForFunction('window.fascia.shown().every((s) => s.cell && window.fascia.muscles(s.track).every((m) => m.visible))', null, { timeout: 15000 });
  const at = () => page.evaluate((n) => window.fascia.shown().map((s) => window.fascia.muscles(s.track).find((m) => m.name === n).x), name);
  const scrub = async (frame) => {
    await page.evaluate((f) => {
      const s = document.getElementById('scrub');
      s.value = f;
      s.dispatchEvent(new Event('input'));
    }, frame);
    await drawn(page);
    return at();
  };
  const end = await scrub(8), start = await scrub(0), half = await scrub(4), mm = (a, b) => 1000 * distance(a, b);
  need(mm(start[0], start[1]) < 0.01, 'both begin at the neutral');
  const apart = mm(end[0], end[1]), way = mm(start[1], end[1]), middle = mm(start[1], half[1]);
  need(apart > 0.5, `the edit moves ${name} by ${apart} mm`);
  need(middle > 0.4 * way && middle < 0.6 * way, `${middle} of ${way} mm half way`);
  await scrub(8);
  await page.evaluate((n) => [...document.querySelectorAll('#muscle-list button')].find((b) => b.textContent === n).click(), name);
  await page.waitForFunction('window.fascia.picked() && window.fascia.shown().every((s) => window.fascia.way(s.track) > 100)', null, { timeout: 15000 });
  await page.click('#fold');
  await drawn(page);
  if (picture) await page.screenshot({ path: picture });
  console.log(`page: ${name} goes ${way.toFixed(1)} mm, ${apart.toFixed(1)} mm of it by the edit; its way is drawn`);
});
