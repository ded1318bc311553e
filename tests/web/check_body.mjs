// The page in a browser: a body stands while its head turns; its points are those that fascia writes with --world.
// usage: node check_body.mjs PAGE.html TRACK WORLD.pc2 TOLERANCE_MM [PICTURE.png]
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { browse, distance, readPc2 } from './browser.mjs';

const [pagePath, track, pc2Path, tolerance, picture] = process.argv.slice(2);
const truth = readPc2(readFileSync(pc2Path));

await browse(async (page) => {
  await page.goto(`file://${resolve(pagePath)}`);
  await page.waitForFunction('window.fascia?.ready', null, { timeout: 60000 });
  for (const frame of [0, Math.floor(truth.frames / 2), truth.frames - 1]) {
    const { drawn, rest } = await page.evaluate(([name, f]) => {
      const i = window.fascia.tracks.indexOf(name), { data } = window.fascia;
      window.fascia.seek(data.tracks[i].times[f]);
      return { drawn: window.fascia.drawn(i), rest: data.rigs[data.tracks[i].rig].body?.rest };
    }, [track, frame]);
    if (!rest) throw new Error('the page does not know that there is a body');
    // the page counts from where the body rests
    const [a, b, c, w] = rest, world = drawn.slice();
    for (let v = 0; v < world.length; v += 3) {
      const [x, y, z] = drawn.slice(v, v + 3), t = [2 * (b * z - c * y), 2 * (c * x - a * z), 2 * (a * y - b * x)];
      world[v] = x + w * t[0] + b * t[2] - c * t[1] + rest[4];
      world[v + 1] = y + w * t[1] + c * t[0] - a * t[2] + rest[5];
      world[v + 2] = z + w * t[2] + a * t[1] - b * t[0] + rest[6];
    }
    const off = 1000 * distance(world, truth.at(frame));
    console.log(`page: the body at frame ${frame} within ${off.toFixed(4)} mm`);
    if (!(off <= +tolerance)) throw new Error(`frame ${frame} is off by ${off} mm`);
  }
  if (picture) await page.screenshot({ path: picture });
});
