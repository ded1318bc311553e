// The page in a browser: loads without a console error, plays, the sliders move vertices, and the vertices drawn are the
// ones we computed. usage: node check_page.mjs PAGE.html TRACK FRAMES.pc2 TOLERANCE_MM [PICTURE.png [MARKERS.csv]]
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { browse, distance, drawn, readPc2 } from './browser.mjs';

const [pagePath, track, pc2Path, tolerance, picture, markersPath] = process.argv.slice(2);
const truth = readPc2(readFileSync(pc2Path));

await browse(async (page) => {
  await page.goto(`file://${resolve(pagePath)}`);
  await page.waitForFunction('window.fascia?.ready', null, { timeout: 60000 });
  const index = await page.evaluate((t) => window.fascia.tracks.indexOf(t), track);
  if (index < 0) throw new Error(`no track '${track}'`);

  // the two tracks of a pair play in step where they have as many frames
  const apart = await page.evaluate(() =>
    window.fascia.data.pairs.some((p) => {
      const [a, b] = [p.before, p.after].map((t) => Array.from(window.fascia.data.tracks[t].times));
      return b.length === a.length && b.some((t, i) => Math.abs(t - a[i]) > 1e-6);
    }));
  if (apart) throw new Error('tracks do not play in step');

  // the vertices drawn
  let worst = 0;
  for (const f of [0, 1, Math.floor(truth.frames / 3), Math.floor(truth.frames / 2), truth.frames - 1]) {
    const drawn = await page.evaluate(([i, frame]) => {
      window.fascia.seek(window.fascia.data.tracks[i].times[frame]);
      return window.fascia.exact(i);
    }, [index, f]);
    if (drawn.length !== 3 * truth.points) throw new Error(`${drawn.length / 3} vertices drawn, ${truth.points} computed`);
    worst = Math.max(worst, 1000 * distance(drawn, truth.at(f)));
  }
  if (!(worst <= +tolerance)) throw new Error(`drawn vertices are off by ${worst} mm`);

  // the panel holds the rest of the controls
  await page.click('#fold');

  // the markers are where the take has them, missing ones are not there, and they can be turned off
  if (markersPath) {
    const rows = readFileSync(markersPath, 'utf8').trim().split('\n').map((l) => l.split(','));
    let most = 0, missing = 0;
    for (const f of [0, 1, Math.floor(rows.length / 2), rows.length - 2]) {
      const markers = await page.evaluate(([i, frame]) => {
        window.fascia.seek(window.fascia.data.tracks[i].times[frame]);
        return window.fascia.markers(i);
      }, [index, f]);
      markers.names.forEach((name, d) => {
        const at = rows[0].indexOf(`${name}.x`), cells = rows[f + 1].slice(at, at + 3);
        if (cells[0] === '') {
          if (Number.isFinite(markers.x[3 * d])) throw new Error(`${name} is drawn at frame ${f}, where it was not seen`);
          missing++;
        } else most = Math.max(most, 1000 * Math.hypot(...cells.map((c, k) => +c - markers.x[3 * d + k])));
      });
    }
    if (!(most < 0.02) || !missing) throw new Error(`markers are off by ${most} mm, ${missing} missing`);
    if (picture) await page.screenshot({ path: picture.replace('.png', '_markers.png') });
    await page.click('#markers');
    await page.waitForFunction((i) => !window.fascia.markers(i), index, { timeout: 20000 });
    await page.click('#markers');
    console.log(`markers: within ${most.toFixed(4)} mm, ${missing} missing samples left out`);
  }
  const control = await page.evaluate(() => !document.querySelector('#markers-box').hidden === window.fascia.data.tracks.some((t) => t.markers));
  if (!control) throw new Error('the control of the markers is there without markers, or not there with them');

  // play moves time; the sliders move vertices
  await page.click('#play');
  await page.waitForFunction((f) => window.fascia.frame() !== f, await page.evaluate(() => window.fascia.frame()), { timeout: 20000 });
  await page.click('#play');
  const before = await page.evaluate(() => window.fascia.drawn(window.fascia.shown()[0].track));
  await page.evaluate(() => {
    const slider = document.querySelector('#shapes input[aria-label=jawOpen]');
    slider.value = 1;
    slider.dispatchEvent(new Event('input'));
  });
  await drawn(page);
  const moved = 1000 * distance(before, await page.evaluate(() => window.fascia.drawn(window.fascia.shown()[0].track)));
  if (!(moved > 5)) throw new Error(`the jawOpen slider moves only ${moved} mm`);
  await page.click('#reset');
  await page.click('#heat');
  await page.click('#wire');
  await drawn(page);
  const colours = await page.evaluate(() => {
    const c = document.querySelector('#view');
    const copy = document.createElement('canvas');
    [copy.width, copy.height] = [c.width, c.height];
    const g = copy.getContext('2d');
    g.drawImage(c, 0, 0);
    return new Set(g.getImageData(0, 0, c.width, c.height).data).size;
  });
  if (colours < 20) throw new Error('the picture is empty');
  if (picture) await page.screenshot({ path: picture });
  console.log(`page: ${truth.frames} frames, drawn vertices within ${worst.toFixed(4)} mm, slider moves ${moved.toFixed(1)} mm`);
});
