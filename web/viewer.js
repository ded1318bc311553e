// The viewer: one mesh, several tracks, side by side or overlaid; play, scrub, sliders, heat map, wireframe, chart.
import {
  AmbientLight, BufferAttribute, BufferGeometry, Color, DirectionalLight, DoubleSide, HemisphereLight, IcosahedronGeometry,
  InstancedMesh, LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshBasicMaterial, MeshStandardMaterial, PerspectiveCamera, Quaternion, Scene,
  SRGBColorSpace, Vector3, WebGLRenderer,
} from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import { chartFrame, drawChart } from './chart.js';
import { dotPlaces, evaluate, evaluatePart, frameAt, load, normals } from './data.js';

const $ = (id) => document.getElementById(id);
const COLORS = ['#e8a07c', '#7cb8e8', '#9fd18b', '#e8d37c', '#c79be8', '#8be0d0'];
const MATERIALS = {
  skin: { color: 0xdcb8a4, roughness: 0.6 }, eye: { color: 0xf3f0ea, roughness: 0.12 }, teeth: { color: 0xf2ead8, roughness: 0.3 },
  mouth: { color: 0xa8544c, roughness: 0.5 }, bone: { color: 0xe6dcc4, roughness: 0.8 }, other: { color: 0x9a9690, roughness: 0.7 },
};

let data, renderer, camera, controls, views = [], override = null, playing = false, time = 0, dirty = true;
const centre = new Vector3();
let radius = 0.15;

// --- scene ---

function makeView(track, index) {
  const scene = new Scene();
  scene.add(new HemisphereLight(0xffffff, 0x5a5654, 1.0), new AmbientLight(0xffffff, 0.25));
  const key = new DirectionalLight(0xfffaf4, 1.9);
  key.position.set(0.6, 0.9, 1.2);
  const rim = new DirectionalLight(0xcfe0ff, 1.0);
  rim.position.set(-0.9, 0.5, -0.8);
  scene.add(key, rim);

  const solids = [data, ...data.parts].map((part) => makeSolid(scene, part));
  const dots = track.dots && makeDots(scene, track.dots);
  return { track, scene, solids, dots, x: solids[0].x, wire: solids[0].wire, on: true, hue: COLORS[index % COLORS.length] };
}

// Markers as small balls, each joined to the surface point it belongs to where that is known.
function makeDots(scene, dots) {
  const n = dots.names.length;
  const balls = new InstancedMesh(new IcosahedronGeometry(1, 2), new MeshBasicMaterial(), n);
  const ends = new BufferAttribute(new Float32Array(6 * n), 3), g = new BufferGeometry();
  g.setAttribute('position', ends);
  const lines = new LineSegments(g, new LineBasicMaterial({ color: 0xfff0c8 }));
  balls.frustumCulled = lines.frustumCulled = false;
  scene.add(balls, lines);
  return { ...dots, balls, ends, lines, x: dotPlaces(dots), now: new Float32Array(3 * n) };
}

// One mesh with its buffers and its wireframe.
function makeSolid(scene, part) {
  const n = part.base.length;
  const x = new Float32Array(n), normal = new Float32Array(n), color = new Float32Array(n).fill(1);
  const position = new BufferAttribute(x, 3), normalAttr = new BufferAttribute(normal, 3), colorAttr = new BufferAttribute(color, 3);
  const g = new BufferGeometry();
  g.setAttribute('position', position);
  g.setAttribute('normal', normalAttr);
  g.setAttribute('color', colorAttr);
  g.setIndex(new BufferAttribute(part.tri, 1));
  const look = MATERIALS[part.material] || MATERIALS.other;
  const mesh = new Mesh(g, new MeshStandardMaterial({ ...look, side: DoubleSide, vertexColors: true }));
  const edges = new BufferGeometry();
  edges.setAttribute('position', position);
  edges.setIndex(new BufferAttribute(part.edges, 1));
  const wire = new LineSegments(edges, new LineBasicMaterial({ color: 0x1b1512, transparent: true, opacity: 0.35 }));
  mesh.frustumCulled = wire.frustumCulled = false;
  scene.add(mesh, wire);
  return { part, look, mesh, wire, x, normal, color, position, normalAttr, colorAttr };
}

function frameScene() {
  const box = { lo: [Infinity, Infinity, Infinity], hi: [-Infinity, -Infinity, -Infinity] };
  for (let i = 0; i < data.base.length; i++) {
    box.lo[i % 3] = Math.min(box.lo[i % 3], data.base[i]);
    box.hi[i % 3] = Math.max(box.hi[i % 3], data.base[i]);
  }
  centre.set(...[0, 1, 2].map((k) => (box.lo[k] + box.hi[k]) / 2));
  radius = Math.hypot(...[0, 1, 2].map((k) => box.hi[k] - box.lo[k])) / 2;
  const front = new Vector3(...(data.front || [0, 0, 1])), up = new Vector3(...(data.up || [0, 1, 0]));
  const left = new Vector3().crossVectors(up, front);
  camera.up.copy(up);
  camera.position.copy(centre).addScaledVector(front, 3.3 * radius).addScaledVector(left, 0.9 * radius).addScaledVector(up, 0.25 * radius);
  camera.near = radius / 50;
  camera.far = radius * 50;
  controls.target.copy(centre);
  controls.update();
}

// --- a frame ---

// The rigid motion of the head relative to its first frame, about which the camera stays.
function pose(view, frame) {
  const h = view.track.head;
  for (const m of [...view.solids.flatMap((s) => [s.mesh, s.wire]), ...(view.dots ? [view.dots.balls, view.dots.lines] : [])]) {
    m.position.set(0, 0, 0);
    m.quaternion.identity();
    if (!h || !$('moving').checked) continue;
    const q0 = new Quaternion(h[0], h[1], h[2], h[3]).invert(), p0 = new Vector3(h[4], h[5], h[6]);
    const o = 7 * frame;
    m.quaternion.copy(q0).multiply(new Quaternion(h[o], h[o + 1], h[o + 2], h[o + 3]));
    m.position.set(h[o + 4], h[o + 5], h[o + 6]).sub(p0).applyQuaternion(q0);
  }
}

const ramp = (t) => {
  // dark blue - teal - yellow - red, readable for colour-blind eyes by its lightness
  const stops = [[0.16, 0.2, 0.42], [0.13, 0.55, 0.6], [0.95, 0.86, 0.45], [0.84, 0.16, 0.12]];
  const s = Math.min(Math.max(t, 0), 1) * 3, i = Math.min(Math.floor(s), 2), f = s - i;
  return stops[i].map((a, k) => a + (stops[i + 1][k] - a) * f);
};
const heatMax = () => 10 ** +$('heat-max').value; // mm

function paint(view, reference) {
  const heat = $('heat').checked && reference;
  const over = $('layout').querySelector('[value=over]').checked && views.filter((w) => w.on).length > 1;
  const max = heatMax() / 1000;
  for (const s of view.solids) {
    const skin = s === view.solids[0], c = s.part.colors;
    if (heat && skin)
      for (let v = 0; v < s.x.length; v += 3) {
        const r = reference.x, d = Math.hypot(s.x[v] - r[v], s.x[v + 1] - r[v + 1], s.x[v + 2] - r[v + 2]);
        s.color.set(ramp(d / max), v);
      }
    else if (c) for (let i = 0; i < c.length; i++) s.color[i] = (c[i] / 255) ** 2.2;
    else s.color.fill(1);
    s.mesh.material.color.set((heat && skin) || (c && !over) ? 0xffffff : over && skin ? view.hue : s.look.color);
    s.mesh.material.transparent = over;
    s.mesh.material.opacity = over ? 0.55 : 1;
    s.colorAttr.needsUpdate = true;
  }
}

// The dots of a frame; with a map their colour and their lines tell how far the surface is off.
const place = new Matrix4(), tint = new Color();
function showDots(view) {
  const d = view.dots, on = $('dots').checked, size = 0.0085 * radius;
  d.balls.visible = on;
  d.lines.visible = on && !!d.vert;
  for (let i = 0; i < d.names.length; i++) {
    const at = d.now.subarray(3 * i, 3 * i + 3), to = [0, 0, 0];
    at.set(d.x.subarray(3 * (view.frame * d.names.length + i), 3 * (view.frame * d.names.length + i) + 3));
    const seen = at.every(Number.isFinite), mapped = d.vert && d.bary[3 * i] + d.bary[3 * i + 1] + d.bary[3 * i + 2] > 0;
    for (let k = 0; mapped && k < 9; k++) to[k % 3] += d.bary[3 * i + Math.floor(k / 3)] * view.x[3 * d.vert[3 * i + Math.floor(k / 3)] + (k % 3)];
    place.makeScale(size, size, size).setPosition(...(seen ? at : [0, 0, 0]));
    if (!seen) place.makeScale(0, 0, 0);
    d.balls.setMatrixAt(i, place);
    if (seen && mapped) tint.setRGB(...ramp(Math.hypot(at[0] - to[0], at[1] - to[1], at[2] - to[2]) / (heatMax() / 1000)), SRGBColorSpace);
    else tint.set(0x40c8e8);
    d.balls.setColorAt(i, tint);
    d.ends.array.set(seen && mapped ? [...at, ...to] : [0, 0, 0, 0, 0, 0], 6 * i);
  }
  d.balls.instanceMatrix.needsUpdate = d.balls.instanceColor.needsUpdate = d.ends.needsUpdate = true;
}

function update() {
  for (const view of views) {
    const frame = frameAt(view.track, time);
    view.frame = frame;
    for (const s of view.solids) {
      if (s.part === data) evaluate(data, view.track, frame, s.x, override);
      else evaluatePart(data, s.part, view.track, frame, s.x, override);
      normals(s.part.tri, s.part.weld, s.x, s.normal);
      s.position.needsUpdate = s.normalAttr.needsUpdate = true;
      s.wire.visible = $('wire').checked;
    }
    pose(view, frame);
    if (view.dots) showDots(view);
  }
  const reference = views[+$('reference').value];
  for (const view of views) paint(view, reference);
  const lead = views[0].track;
  $('scrub').value = views[0].frame;
  $('clock').textContent = `${views[0].frame} / ${lead.times.length - 1}  ${time.toFixed(2)} s`;
  showChart();
}

function draw() {
  const stage = $('stage'), w = stage.clientWidth, h = stage.clientHeight;
  renderer.setSize(w, h, false);
  renderer.setScissorTest(true);
  const on = views.filter((v) => v.on), over = $('layout').querySelector('[value=over]').checked;
  const columns = over ? 1 : Math.max(on.length, 1), cw = w / columns;
  camera.aspect = cw / h;
  // keep the head inside narrow columns
  camera.fov = camera.aspect < 1 ? (2 * Math.atan(Math.tan(Math.PI / 12) / camera.aspect) * 180) / Math.PI : 30;
  camera.updateProjectionMatrix();
  renderer.autoClear = false;
  renderer.setViewport(0, 0, w, h);
  renderer.setScissor(0, 0, w, h);
  renderer.clear();
  $('labels').textContent = '';
  on.forEach((view, i) => {
    const at = over ? 0 : i * cw;
    renderer.setViewport(at, 0, cw, h);
    renderer.setScissor(at, 0, cw, h);
    renderer.render(view.scene, camera);
    if (views.length < 2) return;
    const label = document.createElement('span');
    label.textContent = view.track.name;
    label.style.left = `${over ? cw / 2 : at + cw / 2}px`;
    if (over) label.style.top = `${10 + 28 * i}px`;
    label.style.color = view.hue;
    $('labels').append(label);
  });
}

let last = 0;
function tick(now) {
  requestAnimationFrame(tick);
  const dt = Math.min((now - last) / 1000, 0.1);
  last = now;
  if (playing) {
    const end = views[0].track.times.at(-1);
    time += dt * +$('speed').value;
    if (time > end) time = 0;
    dirty = true;
  }
  controls.update();
  if (dirty) update();
  dirty = false;
  draw();
}

// --- panel ---

function showChart() {
  const what = $('chart-what').value;
  const lines = views.filter((v) => v.track.numbers?.[what]).map((v) => ({ color: v.hue, values: Array.from(v.track.numbers[what]) }));
  if (lines.length) drawChart($('chart'), lines, views[0].frame, views[0].track.times.length);
}

function showLegend() {
  $('legend').hidden = !$('heat').checked && !($('dots').checked && views.some((v) => v.dots?.vert));
  const stops = Array.from({ length: 9 }, (_, i) => `rgb(${ramp(i / 8).map((c) => Math.round(255 * c)).join(' ')})`);
  $('legend').innerHTML = `distance<i style="background:linear-gradient(90deg,${stops.join(',')})"></i><b><span>0</span><span>${heatMax().toPrecision(2)} mm</span></b>`;
  $('heat-max-out').textContent = `${heatMax().toPrecision(2)} mm`;
}

function buildPanel() {
  document.title = data.title;
  $('title').textContent = data.title;
  $('facts').textContent = data.facts || '';
  views.forEach((view, i) => {
    const label = document.createElement('label'), box = document.createElement('input'), dot = document.createElement('i'), note = document.createElement('small');
    box.type = 'checkbox';
    box.checked = true;
    box.onchange = () => ((view.on = box.checked), (dirty = true));
    dot.style.background = view.hue;
    note.textContent = view.track.note || '';
    label.append(box, dot, view.track.name, note);
    $('tracks').append(label);
    $('reference').append(new Option(view.track.name, i));
  });
  $('tracks-box').hidden = views.length < 2;
  $('dots-box').hidden = !views.some((v) => v.dots);
  const numbers = [...new Set(views.flatMap((v) => Object.keys(v.track.numbers || {})))];
  for (const n of numbers) $('chart-what').append(new Option(n));
  $('chart-box').hidden = !numbers.length;
  $('shapes-box').hidden = !data.shapes.length;
  data.shapes.forEach((shape, s) => {
    const label = document.createElement('label'), name = document.createElement('span'), slider = document.createElement('input'), out = document.createElement('output');
    name.textContent = name.title = shape.name;
    Object.assign(slider, { type: 'range', min: 0, max: 1, step: 0.01, value: 0 });
    slider.setAttribute('aria-label', shape.name);
    slider.oninput = () => {
      override ||= Float32Array.from(data.shapes, (_, i) => (views[0].track.weights ? views[0].track.weights[views[0].frame * data.shapes.length + i] : 0));
      override[s] = +slider.value;
      out.textContent = slider.value;
      playing = false;
      $('play').textContent = '▶';
      dirty = true;
    };
    label.append(name, slider, out);
    $('shapes').append(label);
  });
  $('reset').onclick = () => {
    override = null;
    for (const s of $('shapes').querySelectorAll('input')) s.value = 0;
    for (const o of $('shapes').querySelectorAll('output')) o.textContent = '';
    dirty = true;
  };
  $('filter').oninput = () => {
    const want = $('filter').value.toLowerCase();
    for (const l of $('shapes').children) l.hidden = !l.textContent.toLowerCase().includes(want);
  };
  $('scrub').max = views[0].track.times.length - 1;
  $('bar').hidden = views[0].track.times.length < 2;
  $('scrub').oninput = () => ((time = views[0].track.times[+$('scrub').value]), (dirty = true));
  $('play').onclick = () => {
    playing = !playing;
    override = playing ? null : override;
    $('play').textContent = playing ? '⏸' : '▶';
  };
  $('chart').onpointerdown = $('chart').onpointermove = (e) => {
    if (e.buttons) (time = views[0].track.times[chartFrame($('chart'), e, views[0].track.times.length)]), (dirty = true);
  };
  $('fold').onclick = () => $('fold').setAttribute('aria-expanded', String(!document.body.classList.toggle('folded')));
  for (const id of ['wire', 'moving', 'dots', 'heat', 'reference', 'heat-max', 'layout', 'chart-what'])
    $(id).addEventListener('input', () => (showLegend(), (dirty = true)));
  window.addEventListener('keydown', (e) => {
    if (e.target.matches('input, select, button')) return;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (e.key === ' ') $('play').click();
    else if (step) (time = views[0].track.times[Math.min(Math.max(views[0].frame + step, 0), views[0].track.times.length - 1)]), (dirty = true);
  });
  showLegend();
}

async function main() {
  data = await load($('fascia-data'));
  renderer = new WebGLRenderer({ canvas: $('view'), antialias: true, preserveDrawingBuffer: true });
  renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
  renderer.setClearColor(new Color(0x242220));
  camera = new PerspectiveCamera(30, 1, 0.01, 100);
  controls = new OrbitControls(camera, $('view'));
  controls.enableDamping = true;
  views = data.tracks.map(makeView);
  frameScene();
  buildPanel();
  $('message').remove();
  // for tests and the curious: the numbers behind the picture
  window.fascia = {
    data,
    ready: true,
    tracks: data.tracks.map((t) => t.name),
    seek: (t) => ((time = t), (playing = false), update()),
    frame: () => views[0].frame,
    drawn: (i) => Array.from(views[i].solids[0].position.array),
    dots: (i) => (views[i].dots?.balls.visible ? { names: views[i].dots.names, x: Array.from(views[i].dots.now) } : null),
  };
  requestAnimationFrame(tick);
}

main().catch((e) => {
  $('message').textContent = `This page cannot be shown: ${e.message}`;
  console.error(e);
});
