// node three_check.mjs MODEL.glb REFERENCE.pc2 [--mesh NAME] [--frames 0,10,299] [--fps 30] [--start 0] [--tolerance-mm 0.06]
//                      [--world] [--joint NAME=X,Y,Z]
// Play a GLB in three.js inside headless Chromium and compare every morphed vertex with the exact frames of a PC2 file.
// With a .json of tests/parts_truth.c in its place: every vertex of every part of the head, in the world, at --start.
// The vertices are evaluated twice: from the loaded attributes and influences, and by three's own
// Mesh.getVertexPosition. --world: as a viewer shows them instead, moved by nodes and skin. --joint: that node stays
// within 1 mm of the place. Nothing is fetched: the page and the model are handed to the browser by this script.
// Exit 0: within tolerance and no console error; 1: not; 77: something is not installed.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);
const here = dirname(fileURLToPath(import.meta.url));

function need(name) {
  try {
    return require(name);
  } catch {
    console.error(`${name} is not installed: run tools/setup`);
    process.exit(77);
  }
}

function parseArgs(argv) {
  const o = { fps: 30, start: 0, toleranceMm: 0.06, files: [] };
  for (let i = 0; i < argv.length; i++) {
    if (argv[i] === '--mesh') o.mesh = argv[++i];
    else if (argv[i] === '--frames') o.frames = argv[++i].split(',').map(Number);
    else if (argv[i] === '--fps') o.fps = Number(argv[++i]);
    else if (argv[i] === '--start') o.start = Number(argv[++i]);
    else if (argv[i] === '--world') o.world = true;
    else if (argv[i] === '--joint') {
      const [name, place] = argv[++i].split('=');
      o.joint = { name, at: place.split(',').map(Number) };
    } else if (argv[i] === '--tolerance-mm') o.toleranceMm = Number(argv[++i]);
    else if (argv[i].startsWith('--')) usage(`unknown option ${argv[i]}`);
    else o.files.push(argv[i]);
  }
  if (o.files.length !== 2) usage('give a model and a reference');
  return o;
}

function usage(why) {
  console.error(`${why}\nusage: node three_check.mjs MODEL.glb REFERENCE.pc2 [--mesh NAME] [--frames A,B] [--fps N] [--start S] [--tolerance-mm X]`);
  process.exit(2);
}

// PC2: "POINTCACHE2\0", version, points, start, rate, samples, then float positions
function readPc2(path) {
  const b = readFileSync(path);
  if (b.subarray(0, 11).toString('latin1') !== 'POINTCACHE2') usage(`${path} is not a PC2 file`);
  const points = b.readInt32LE(16);
  const samples = b.readInt32LE(28);
  const size = points * 12;
  return { points, samples, frame: (f) => b.subarray(32 + f * size, 32 + (f + 1) * size) };
}

function findBrowser() {
  const known = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
  const found = known.find((p) => p && existsSync(p));
  if (!found) {
    console.error('no Chromium found: run tools/setup, or set CHROMIUM');
    process.exit(77);
  }
  return found;
}

// The page: load the model, offer `frame(time, reference)`.
const PAGE = `
import * as THREE from 'three';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
import { MeshoptDecoder } from 'three/addons/libs/meshopt_decoder.module.js';

window.load = async (meshName) => {
  const loader = new GLTFLoader();
  loader.setMeshoptDecoder(MeshoptDecoder);
  // textures are not the point here: in the place of the KTX2 plugin, which asks first, an empty one for all
  loader.register(() => ({ name: 'KHR_texture_basisu', loadTexture: async () => new THREE.Texture() }));
  const gltf = await loader.loadAsync('http://model.invalid/model.glb');
  const byMesh = new Map();  // glTF mesh -> its primitives, as three objects of one node
  gltf.scene.traverse((o) => {
    if (!o.isMesh) return;
    const at = gltf.parser.associations.get(o);
    if (!at || at.meshes === undefined) return;
    const key = at.meshes;
    if (!byMesh.has(key)) byMesh.set(key, { prims: [], targets: 0, name: gltf.parser.json.meshes[key].name ?? '' });
    const m = byMesh.get(key);
    if (!m.prims[at.primitives ?? 0]) m.prims[at.primitives ?? 0] = o;
    m.targets = Math.max(m.targets, o.morphTargetInfluences ? o.morphTargetInfluences.length : 0);
  });
  let face = null;
  for (const m of byMesh.values())
    if (meshName ? m.name === meshName : !face || m.targets > face.targets) face = m;
  if (!face) throw new Error('no mesh');
  const mixer = new THREE.AnimationMixer(gltf.scene);
  for (const clip of gltf.animations) mixer.clipAction(clip).setLoop(THREE.LoopOnce).play().clampWhenFinished = true;
  window.state = { gltf, face, mixer, scale: 1 };
  const renderer = new THREE.WebGLRenderer({ canvas: document.createElement('canvas') });
  renderer.setSize(64, 64);
  const scene = new THREE.Scene();
  scene.add(gltf.scene);
  const camera = new THREE.PerspectiveCamera();
  camera.position.z = 1;
  window.state.draw = () => renderer.render(scene, camera);
  return {
    mesh: face.name, primitives: face.prims.length, targets: face.targets,
    vertices: face.prims.reduce((n, p) => n + p.geometry.attributes.position.count, 0),
    animations: gltf.animations.length,
    names: face.prims[0].morphTargetDictionary ? Object.keys(face.prims[0].morphTargetDictionary) : [],
  };
};

// positions as the formula says: base + sum of influence * relative target
function evaluate(mesh) {
  const g = mesh.geometry, base = g.attributes.position, targets = g.morphAttributes.position ?? [];
  if (targets.length && !g.morphTargetsRelative) throw new Error('targets are not relative');
  const x = new Float64Array(base.count * 3), v = new THREE.Vector3();
  for (let i = 0; i < base.count; i++) {
    v.fromBufferAttribute(base, i);
    x[3 * i] = v.x; x[3 * i + 1] = v.y; x[3 * i + 2] = v.z;
  }
  targets.forEach((t, k) => {
    const w = mesh.morphTargetInfluences[k];
    if (w === 0) return;
    for (let i = 0; i < base.count; i++) {
      v.fromBufferAttribute(t, i);
      x[3 * i] += w * v.x; x[3 * i + 1] += w * v.y; x[3 * i + 2] += w * v.z;
    }
  });
  return x;
}

// positions as they are seen: by morphs, skin and nodes
window.seen = (time, base64, joint) => {
  const ref = new Float32Array(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer);
  const { gltf, face, mixer } = window.state;
  mixer.setTime(time);
  gltf.scene.updateMatrixWorld(true);
  const p = new THREE.Vector3();
  let max = 0, at = -1, offset = 0, off = 0;
  // primitives may share all vertices
  const shared = face.prims[0].geometry.attributes.position.count * 3 === ref.length;
  for (const mesh of shared ? face.prims.slice(0, 1) : face.prims) {
    const n = mesh.geometry.attributes.position.count;
    for (let i = 0; i < n; i++) {
      mesh.getVertexPosition(i, p).applyMatrix4(mesh.matrixWorld);
      const k = 3 * (offset + i), d = Math.hypot(p.x - ref[k], p.y - ref[k + 1], p.z - ref[k + 2]);
      if (d > max) { max = d; at = offset + i; }
    }
    offset += n;
  }
  if (joint) {
    gltf.scene.getObjectByName(joint.name).getWorldPosition(p);
    off = Math.hypot(p.x - joint.at[0], p.y - joint.at[1], p.z - joint.at[2]);
  }
  window.state.draw();
  return { max, max3: 0, at, count: offset, off };
};

// how far each list of world positions is from the nearest vertex that is shown, at most
window.parts = (time, wanted) => {
  const { gltf, mixer } = window.state, cloud = [];
  mixer.setTime(time);
  gltf.scene.updateMatrixWorld(true);
  gltf.scene.traverse((o) => {
    const p = new THREE.Vector3();
    for (let i = 0; o.isMesh && i < o.geometry.attributes.position.count; i++) {
      o.getVertexPosition(i, p).applyMatrix4(o.matrixWorld);
      cloud.push([p.x, p.y, p.z]);
    }
  });
  window.state.draw();
  return wanted.map((x) => {
    let most = 0;
    for (let v = 0; v < x.length; v += 3 * Math.max(1, Math.floor(x.length / 600))) {
      let best = Infinity;
      for (const c of cloud) best = Math.min(best, (c[0] - x[v]) ** 2 + (c[1] - x[v + 1]) ** 2 + (c[2] - x[v + 2]) ** 2);
      most = Math.max(most, Math.sqrt(best));
    }
    return most;
  });
};

window.frame = (time, base64) => {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const ref = new Float32Array(bytes.buffer);
  const { face, mixer } = window.state;
  mixer.setTime(time);
  const s = new THREE.Vector3();
  let max = 0, max3 = 0, at = -1, offset = 0;
  for (const mesh of face.prims) {
    mesh.updateWorldMatrix(true, false);
    mesh.getWorldScale(s);
    const x = evaluate(mesh), n = x.length / 3, p = new THREE.Vector3();
    const skin = mesh.isSkinnedMesh ? 1 : 0;
    for (let i = 0; i < n; i++) {
      const k = 3 * (offset + i);
      const d = Math.hypot(x[3 * i] * s.x - ref[k], x[3 * i + 1] * s.y - ref[k + 1], x[3 * i + 2] * s.z - ref[k + 2]);
      if (d > max) { max = d; at = offset + i; }
      if (!skin && i % 7 === 0) {
        mesh.getVertexPosition(i, p);
        max3 = Math.max(max3, Math.hypot(p.x * s.x - ref[k], p.y * s.y - ref[k + 1], p.z * s.z - ref[k + 2]));
      }
    }
    offset += n;
  }
  window.state.draw();
  return { max, max3, at, count: offset };
};
`;

async function bundle() {
  const esbuild = need('esbuild');
  const root = dirname(dirname(require.resolve('three')));
  const out = await esbuild.build({
    stdin: { contents: PAGE, resolveDir: here, loader: 'js' },
    bundle: true, write: false, format: 'iife', logLevel: 'error',
    alias: { 'three/addons': join(root, 'examples/jsm') },
    nodePaths: [dirname(root)],
  });
  return out.outputFiles[0].text;
}

const o = parseArgs(process.argv.slice(2));
const truth = o.files[1].endsWith('.json') ? JSON.parse(readFileSync(o.files[1], 'utf8')) : null;
const ref = truth ? null : readPc2(o.files[1]);
const model = readFileSync(o.files[0]);
need('three');
const { chromium } = need('playwright-core');
const script = await bundle();
const browser = await chromium.launch({
  executablePath: findBrowser(),
  args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--disable-background-networking'],
});
let failed = false;
const complain = (text) => {
  failed = true;
  console.error(text);
};
try {
  const page = await browser.newPage();
  page.on('console', (m) => m.type() === 'error' && complain(`console: ${m.text()}`));
  page.on('pageerror', (e) => complain(`page: ${e.message}`));
  await page.route('**/*', (route) => {
    const url = route.request().url();
    if (url.endsWith('/model.glb')) return route.fulfill({ body: model, contentType: 'model/gltf-binary', headers: { 'access-control-allow-origin': '*' } });
    if (url === 'http://page.invalid/') return route.fulfill({ body: '<!doctype html><title>check</title><body></body>', contentType: 'text/html' });
    if (url.endsWith('/favicon.ico')) return route.fulfill({ status: 204, body: '' });
    complain(`the page asked for ${url}`);
    return route.abort();
  });
  await page.goto('http://page.invalid/');
  await page.addScriptTag({ content: script });
  const info = await page.evaluate((mesh) => window.load(mesh), o.mesh);
  console.log(JSON.stringify({ ...info, names: info.names.length }));
  if (truth) {
    const off = await page.evaluate(([t, w]) => window.parts(t, w), [o.start, truth.parts.map((p) => p.world)]);
    truth.parts.forEach((p, i) => console.log(`three: ${p.name || 'face'} (${p.follows}) within ${(1000 * truth.unit * off[i]).toFixed(4)} mm`));
    if (!(1000 * truth.unit * Math.max(...off) <= o.toleranceMm)) complain('a part is not where it should be');
  }
  if (ref && info.vertices !== ref.points && !(o.world && info.vertices === info.primitives * ref.points)) complain(`the model has ${info.vertices} vertices, the reference ${ref.points}`);
  const frames = !ref ? [] : o.frames ?? [...Array(ref.samples).keys()].filter((f) => f % Math.ceil(ref.samples / 40) === 0 || f === ref.samples - 1);
  let worst = 0;
  for (const f of failed ? [] : frames) {
    const time = Math.fround(o.start + f / o.fps);
    const r = await page.evaluate(([t, b, w, j]) => (w ? window.seen(t, b, j) : window.frame(t, b)), [time, ref.frame(f).toString('base64'), o.world, o.joint]);
    if (r.off > 1e-3) complain(`frame ${f}: ${o.joint.name} is ${(1000 * r.off).toFixed(3)} mm off`);
    const mm = 1000 * Math.max(r.max, r.max3);
    worst = Math.max(worst, mm);
    if (!(mm <= o.toleranceMm)) complain(`frame ${f}: vertex ${r.at} is off by ${(1000 * r.max).toFixed(5)} mm (${(1000 * r.max3).toFixed(5)} by getVertexPosition)`);
  }
  console.log(JSON.stringify({ frames: frames.length, max_mm: Number(worst.toFixed(6)), tolerance_mm: o.toleranceMm, ok: !failed }));
} finally {
  await browser.close();
}
process.exit(failed ? 1 : 0);
