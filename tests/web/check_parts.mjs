// The page in a browser: meshes that come along (eyes, teeth) are drawn where we have them.
// usage: node check_parts.mjs PAGE.html TRACK FRAME TRUTH.json TOLERANCE_MM [PICTURE.png [WEIGHTS.json]]      (TRUTH.json: tests/parts_truth.c)
// WEIGHTS.json: those of the frame, by names of shapes; sliders at them show the same.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { browse, distance } from './browser.mjs';

const [pagePath, track, frame, truthPath, tolerance, picture, weightsPath] = process.argv.slice(2);
const truth = JSON.parse(readFileSync(truthPath, 'utf8'));

await browse(async (page) => {
  await page.goto(`file://${resolve(pagePath)}`);
  await page.waitForFunction('window.fascia?.ready', null, { timeout: 60000 });
  const drawn = await page.evaluate(([name, f]) => {
    const i = window.fascia.tracks.indexOf(name);
    window.fascia.seek(window.fascia.data.tracks[i].times[f]);
    return window.fascia.parts(i);
  }, [track, +frame]);
  const wanted = truth.parts.slice(1);
  const check = (parts, how) => {
    if (parts.length < wanted.length) throw new Error(`${parts.length} parts drawn, ${wanted.length} expected`);
    for (const part of wanted) {
      const same = parts.filter((d) => d.x.length === part.face.length).map((d) => 1000 * distance(d.x, part.face));
      const off = Math.min(...same);
      console.log(`page: ${part.name} (${part.follows}) within ${off.toFixed(4)} mm${how}`);
      if (!(off <= +tolerance)) throw new Error(`${part.name} is off by ${off} mm${how}`);
    }
  };
  check(drawn, '');
  if (weightsPath) {
    const slid = await page.evaluate(([name, weights]) => {
      const i = window.fascia.tracks.indexOf(name);
      window.fascia.slide(weights);
      return window.fascia.parts(i);
    }, [track, JSON.parse(readFileSync(weightsPath, 'utf8'))]);
    check(slid, ' by its sliders');
  }
  if (picture) await page.screenshot({ path: picture });
});
