// The page of a pose by muscles in a browser: muscles under transparent skin that are picked by a click, and switched on and off.
// usage: node check_muscles.mjs PAGE.html MUSCLE [PICTURE.png]      (MUSCLE: one that pulls and is seen from the front)
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
  const [rest, posed] = await page.evaluate(() => window.fascia.shown().map((s) => window.fascia.muscles(s.track)));
  need(rest.length > 40 && rest.length === posed.length, `${rest.length} and ${posed.length} muscles`);
  need(rest.every((m) => m.activation === 0 && m.visible), 'at rest nothing pulls and all is seen');
  const i = posed.findIndex((m) => m.name === name), moved = 1000 * distance(rest[i].x, posed[i].x);
  need(posed[i].activation > 0 && moved > 2 && moved < 30, `${name}: activation ${posed[i].activation}, moved ${moved} mm`);
  // a click on it
  const after = (await page.evaluate(() => window.fascia.shown())).at(-1).track;
  const [x, y] = await page.evaluate(([t, n]) => window.fascia.muscleOn(t, n), [after, name]);
  await page.locator('#view').click({ position: { x, y } });
  await page.waitForFunction('window.fascia.picked()', null, { timeout: 15000 });
  const picked = await page.evaluate(() => window.fascia.picked()), text = await page.textContent('#muscle-info');
  need(picked === name, `picked ${picked}, not ${name}`);
  need(/held by/.test(text) && /N at full strength/.test(text) && /activation 0\.\d/.test(text), `it says: ${text}`);
  await page.click('#fold');
  await drawn(page);
  if (picture) await page.screenshot({ path: picture });
  // off and on
  const visible = async (good, text) => {
    await drawn(page);
    const n = (await page.evaluate((t) => window.fascia.muscles(t), after)).filter((m) => m.visible).length;
    need(good(n), `${n} are seen: ${text}`);
    return n;
  };
  await page.click('#muscles-pull');
  const few = await visible((n) => n > 0 && n < 10, 'only those that pull');
  await page.click('#muscles-none');
  await visible((n) => n === 0, 'none');
  await page.click('#muscles-all');
  await visible((n) => n === posed.length, 'all');
  await page.evaluate(() => {
    const thin = document.getElementById('thin');
    thin.value = 1;
    thin.dispatchEvent(new Event('input'));
  });
  await visible((n) => n === 0, 'whole skin hides them');
  console.log(`page: ${rest.length} muscles, ${name} moves ${moved.toFixed(1)} mm, picked by a click, ${few} pull`);
});
