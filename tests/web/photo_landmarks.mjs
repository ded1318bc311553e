// MediaPipe's face mesh on public photographs, offline: one landmark file and one picture per face.
// usage: node photo_landmarks.mjs PACKAGES OUT: PACKAGES holds @mediapipe/face_mesh and @vladmandic/face-api (see
// tests/web/camera/package.json); OUT gets NAME.json, as fa_landmarks_load reads it, and NAME.png, the crop.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { browse } from './browser.mjs';

const [packages, out] = process.argv.slice(2);
const mesh = join(packages, '@mediapipe/face_mesh'), photos = join(packages, '@vladmandic/face-api/demo');
for (const dir of [mesh, photos])
  if (!existsSync(dir)) {
    console.log(`skipped: ${dir} is not there (tools/setup test installs it)`);
    process.exit(77);
  }

// The detector wants faces that fill the picture: squares about them, by hand: photo, middle, side.
const SIDE = 560;
const faces = [
  ['laugh', 'sample1.jpg', 1590, 330], ['smile', 'sample3.jpg', 1219, 379], ['calm', 'sample4.jpg', 764, 260],
  ['green', 'sample6.jpg', 367, 659], ['red', 'sample6.jpg', 782, 494],
];

const types = { js: 'text/javascript', jpg: 'image/jpeg', html: 'text/html', wasm: 'application/wasm' };
const home = `<!doctype html><script src="mesh/face_mesh.js"></script>`;
const serve = (route) => {
  const path = normalize(new URL(route.request().url()).pathname).slice(1);
  const file = path.startsWith('mesh/') ? join(mesh, path.slice(5)) : path.startsWith('photo/') ? join(photos, path.slice(6)) : '';
  if (path === '') return route.fulfill({ contentType: 'text/html', body: home });
  if (!file || !existsSync(file)) return route.fulfill({ status: path === 'favicon.ico' ? 204 : 404, body: '' });
  return route.fulfill({ contentType: types[path.split('.').at(-1)] || 'application/octet-stream', body: readFileSync(file) });
};

await browse(async (page) => {
  await page.route('http://fascia.test/**', serve);
  await page.goto('http://fascia.test/');
  let found = 0;
  for (const [name, photo, x, y] of faces) {
    const start = Date.now();
    const got = await page.evaluate(async ([url, cx, cy, side]) => {
      // any other option stops its graph
      if (!window.mesh) {
        window.mesh = new window.FaceMesh({ locateFile: (f) => `mesh/${f}` });
        window.mesh.setOptions({ maxNumFaces: 1, refineLandmarks: true });
        await window.mesh.initialize();
      }
      window.mesh.reset(); // no memory of the face before
      const image = new Image();
      image.src = url;
      await image.decode();
      const at = (c, size) => Math.round(Math.min(Math.max(c - side / 2, 0), size - side));
      const canvas = document.createElement('canvas');
      canvas.width = canvas.height = side;
      canvas.getContext('2d').drawImage(image, -at(cx, image.width), -at(cy, image.height));
      const points = await new Promise((done) => {
        window.mesh.onResults((r) => done(r.multiFaceLandmarks?.[0] || null));
        window.mesh.send({ image: canvas });
      });
      return { points: points && points.map((p) => [p.x * side, p.y * side, p.z * side]), png: canvas.toDataURL('image/png') };
    }, [`photo/${photo}`, x, y, SIDE]);
    writeFileSync(join(out, `${name}.png`), Buffer.from(got.png.split(',')[1], 'base64'));
    console.log(`${name}: ${got.points ? got.points.length : 'no'} points, ${Date.now() - start} ms`);
    if (!got.points) continue;
    found++;
    const take = { layout: `mediapipe${got.points.length}`, units: 'pixels', width: SIDE, height: SIDE, fps: 30, frames: [{ time: 0, points: got.points }] };
    writeFileSync(join(out, `${name}.json`), JSON.stringify(take));
  }
  console.log(`${found} of ${faces.length} faces found`);
});
