// A page of pairs in a browser: opens large on its first pair at the telling frame, says what to look at, jumps, draws the
// difference larger, looks closer, works by keys, shows all. usage: node check_pairs.mjs PAGE.html [FOLDER of pictures]
import { join, resolve } from 'node:path';
import { browse, distance } from './browser.mjs';

const [pagePath, pictures] = process.argv.slice(2);
const need = (ok, what) => {
  if (!ok) throw new Error(what);
};

await browse(async (page) => {
  const run = (f, ...args) => page.evaluate(f, ...args);
  const settle = () => run(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))));
  // pictures stay in the page: take one under a name, count the values in which two differ
  const keep = (name) => settle().then(() => run((n) => {
    const c = document.querySelector('#view'), copy = document.createElement('canvas');
    [copy.width, copy.height] = [c.width, c.height];
    copy.getContext('2d').drawImage(c, 0, 0);
    (window.kept ||= {})[n] = copy.getContext('2d').getImageData(0, 0, c.width, c.height).data;
  }, name));
  const changed = (a, b) => run(([i, j]) => {
    let n = 0;
    window.kept[i].forEach((v, k) => (n += Math.abs(v - window.kept[j][k]) > 12));
    return n;
  }, [a, b]);
  const slide = (id, value) => run(([i, v]) => {
    const slider = document.querySelector(i);
    slider.value = v;
    slider.dispatchEvent(new Event('input'));
  }, [id, value]).then(settle);
  const shot = (name) => pictures && page.screenshot({ path: join(pictures, `${name}.png`) });

  await page.setViewportSize({ width: 1200, height: 760 });
  await page.goto(`file://${resolve(pagePath)}`);
  await page.waitForFunction('window.fascia?.ready', null, { timeout: 60000 });
  await settle();
  const pairs = await run(() => window.fascia.data.pairs.map((p) => ({ ...p })));
  need(pairs.length > 1, 'the page has no pairs');

  // opens on the first pair: two cells that fill the window, at the first jump, not playing
  const open = await run(() => ({ shown: window.fascia.shown(), frame: window.fascia.frame(), pair: window.fascia.pair() }));
  need(open.pair === 0 && open.shown.length === 2, `opens on ${open.shown.length} tracks`);
  for (const s of open.shown) need(s.cell.width >= 580 && s.cell.height >= 500, `a cell of ${s.cell.width} x ${s.cell.height} in a window of 1200 x 760`);
  need(open.frame === pairs[0].jumps[0].frame, `opens at frame ${open.frame}, not at the first jump's`);
  await shot('open');

  // every pair: its sentence, its jumps
  for (const [i, pair] of pairs.entries()) {
    await page.keyboard.press(String(i + 1));
    await settle();
    const state = await run(() => ({ sentence: document.querySelector('#sentence').textContent, tracks: window.fascia.shown().map((s) => s.track), buttons: document.querySelectorAll('#jumps button').length }));
    need(state.sentence === pair.sentence && state.sentence.length > 20, `no sentence for '${pair.name}'`);
    need(state.tracks.join() === [pair.before, pair.after].join(), `'${pair.name}' shows tracks ${state.tracks}`);
    need(state.buttons === pair.jumps.length && state.buttons > 0, `'${pair.name}' has ${state.buttons} jumps`);
    for (const [j, jump] of pair.jumps.entries()) {
      await slide('#scrub', jump.frame ? 0 : 1);
      await page.click(`#jumps button:nth-child(${j + 1})`);
      await settle();
      const at = await run(() => window.fascia.frame());
      need(at === jump.frame, `the jump '${jump.name}' goes to frame ${at}, not ${jump.frame}`);
    }
    await page.click('#jumps button');
    await settle();
    await shot(`pair${i + 1}`);
  }

  // exaggeration: the difference of what is drawn grows by the factor, and pixels change; the stored frames do not
  const apart = pairs.findIndex((p) => p.before !== p.after && p.focus === 'head');
  const tracks = [pairs[apart].before, pairs[apart].after];
  const gap = () => run(([b, a]) => [window.fascia.drawn(b), window.fascia.drawn(a)], tracks).then(([b, a]) => distance(a, b));
  await page.keyboard.press(String(apart + 1));
  await settle();
  const once = await gap();
  await keep('plain');
  await slide('#exaggerate', 4);
  const four = await gap();
  await keep('larger');
  need(once > 1e-3 && Math.abs(four / once - 4) < 1e-3, `four times ${1000 * once} mm is drawn as ${1000 * four} mm`);
  need((await changed('plain', 'larger')) > 2000, 'exaggeration does not change the picture');
  const stored = await run(([b, a]) => [window.fascia.exact(b), window.fascia.exact(a)], tracks);
  need(Math.abs(distance(stored[1], stored[0]) - once) < 1e-6, 'exaggeration changes the stored frames');
  await shot('exaggerated');
  await slide('#exaggerate', 1);

  // close-up, heat map, play, one frame on by keys
  await page.click('[data-focus=mouth]');
  await keep('close');
  need((await changed('plain', 'close')) > 2000, 'the close-up shows the same picture');
  await page.keyboard.press('h');
  await keep('heat');
  need((await changed('close', 'heat')) > 2000, 'the heat map changes nothing');
  await page.keyboard.press('h');
  await slide('#scrub', 3);
  await run(() => document.activeElement.blur());
  await page.keyboard.press('ArrowRight');
  await settle();
  need((await run(() => window.fascia.frame())) === 4, 'the right arrow is not one frame');
  await page.keyboard.press(' ');
  await page.waitForFunction(() => window.fascia.frame() > 6, null, { timeout: 30000 });
  await page.keyboard.press(' ');

  // all tracks in a grid that fills the window
  await page.keyboard.press('0');
  await settle();
  const all = await run(() => ({ shown: window.fascia.shown(), total: window.fascia.tracks.length }));
  need(all.shown.length === all.total, 'not all tracks are shown');
  need(all.shown[0].cell.width * all.shown[0].cell.height * all.total > 0.95 * 1200 * 500, 'the grid leaves the window empty');
  await shot('all');

  // the first pair is about crossings: many before, none after, and they are painted
  const crossings = await run(() => window.fascia.data.pairs[0] && ['before', 'after'].map((k) => Math.max(...window.fascia.data.tracks[window.fascia.data.pairs[0][k]].numbers['crossing triangle pairs'])));
  need(crossings[0] > 20 && crossings[1] === 0, `crossings: ${crossings}`);
  await page.keyboard.press('1');
  await settle();
  await keep('red');
  await run(() => document.querySelector('#crossings').click());
  await keep('pale');
  need((await changed('red', 'pale')) > 500, 'crossing triangles are not painted');
  console.log(`pairs: ${pairs.length}, crossings ${crossings[0]} before and ${crossings[1]} after, four times ${(1000 * once).toFixed(2)} mm drawn as ${(1000 * four).toFixed(2)} mm`);
});
