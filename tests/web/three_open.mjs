// node three_open.mjs FILE.glb... : open each file in three.js inside headless Chromium, play it to its middle and draw it.
// One line a file: meshes, shapes, animations, and the part of the picture that is drawn. Exit 1: a file does not open.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { browse } from './browser.mjs';

const require = createRequire(import.meta.url);
const PAGE = `
import * as THREE from 'three';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
import { MeshoptDecoder } from 'three/addons/libs/meshopt_decoder.module.js';

window.open_model = async (url) => {
  const loader = new GLTFLoader();
  loader.setMeshoptDecoder(MeshoptDecoder);
  loader.register(() => ({ name: 'KHR_texture_basisu', loadTexture: async () => new THREE.Texture() }));
  const gltf = await loader.loadAsync(url), scene = new THREE.Scene();
  scene.add(gltf.scene, new THREE.HemisphereLight(0xffffff, 0x888888, 3));
  const mixer = new THREE.AnimationMixer(gltf.scene);
  for (const clip of gltf.animations) mixer.clipAction(clip).play();
  const length = Math.max(0, ...gltf.animations.map((c) => c.duration));
  mixer.setTime(length / 2);
  let meshes = 0, shapes = 0, moved = 0;
  gltf.scene.traverse((o) => {
    if (!o.isMesh) return;
    meshes++;
    shapes = Math.max(shapes, o.morphTargetInfluences?.length ?? 0);
    moved = Math.max(moved, ...(o.morphTargetInfluences ?? [0]).map(Math.abs));
  });
  const box = new THREE.Box3().setFromObject(gltf.scene), size = box.getSize(new THREE.Vector3()).length();
  const camera = new THREE.PerspectiveCamera(30, 1, size / 100, size * 10);
  camera.position.copy(box.getCenter(new THREE.Vector3())).add(new THREE.Vector3(0, 0, 2 * size));
  const renderer = new THREE.WebGLRenderer({ preserveDrawingBuffer: true }), n = 128;
  renderer.setSize(n, n, false);
  renderer.setClearColor(0x00ff00); // what is drawn may be black: textures are left out
  renderer.render(scene, camera);
  const pixel = new Uint8Array(4 * n * n), gl = renderer.getContext();
  gl.readPixels(0, 0, n, n, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
  let drawn = 0;
  for (let i = 0; i < pixel.length; i += 4) drawn += pixel[i] > 0 || pixel[i + 1] < 255 || pixel[i + 2] > 0;
  renderer.dispose();
  renderer.forceContextLoss();
  return { meshes, shapes, animations: gltf.animations.length, seconds: length, moved, drawn: drawn / (n * n) };
};
`;

const esbuild = require('esbuild'), root = dirname(dirname(require.resolve('three')));
const bundle = await esbuild.build({
  stdin: { contents: PAGE, resolveDir: dirname(fileURLToPath(import.meta.url)), loader: 'js' },
  bundle: true, write: false, format: 'iife', logLevel: 'error',
  alias: { 'three/addons': join(root, 'examples/jsm') }, nodePaths: [dirname(root)],
});
const files = process.argv.slice(2);
let bad = 0;
await browse(async (page) => {
  await page.route('http://fascia.test/**', (route) => {
    const at = /model_(\d+)\.glb$/.exec(route.request().url());
    if (at) return route.fulfill({ body: readFileSync(files[+at[1]]), contentType: 'model/gltf-binary' });
    return route.fulfill({ body: '<!doctype html><link rel="icon" href="data:,"><title>open</title>', contentType: 'text/html' });
  });
  await page.goto('http://fascia.test/');
  await page.addScriptTag({ content: bundle.outputFiles[0].text });
  for (const [i, file] of files.entries()) {
    const r = await page.evaluate((url) => window.open_model(url).catch((e) => ({ error: String(e) })), `http://fascia.test/model_${i}.glb`);
    if (r.error || !r.meshes || !r.animations || !(r.moved > 0.01) || !(r.drawn > 0.005)) bad++;
    console.log(JSON.stringify({ file, ...r }));
  }
});
process.exit(bad ? 1 : 0);
