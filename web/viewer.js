// The viewer: tracks in pairs, large and side by side, or all in a grid; jumps, exaggeration, heat map, sliders, chart.
import { Color, PerspectiveCamera, Raycaster, Vector2, Vector3, WebGLRenderer } from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import { chartFrame, drawChart } from './chart.js';
import { frameAt, load } from './data.js';
import { buildSliders, response } from './sliders.js';
import { evaluateExact, extent, framed, HUES, makeView, paint, pose, ramp, shape, showMarkers, showMuscles, swing, travels } from './scene.js';

const $ = (id) => document.getElementById(id);
const MOUTH_VIEW = 0.08; // m, height of the close-up

let data, renderer, camera, controls, views = [], shown = [], pair = null;
let override = null, playing = false, time = 0, dirty = true, focus = 'head', turned = false, fitted = '', picked = -1, sliders = null;
const picks = new Set(); // frames of the leading track

// before and after have the same two colours in every pair
const hue = (view) => (pair && pair.before !== pair.after ? HUES[pair.before === view.index ? 0 : 1] : view.hue);
const lead = () => shown.at(-1) || views[0]; // the track whose frames the time bar counts
// weights that replace the clip's: the shape sliders', else those of the page's sliders, linear on the first face
const weightsOf = (view) => override || (sliders ? sliders.weights(view.rig.shapes.length, view === views[0]) : null);
const overlaid = () => $('layout').querySelector('[value=over]').checked && shown.length > 1;
const heatMax = () => 10 ** +$('heat-max').value; // mm
const element = (tag, text, attributes = {}) => {
  const e = document.createElement(tag);
  e.textContent = text;
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  return e;
};

// --- camera ---

// Rows and columns of n cells, as large as the stage allows for heads a little higher than wide.
function grid(n, w, h) {
  let best = { columns: 1, rows: n, size: 0 };
  for (let columns = 1; columns <= n; columns++) {
    const rows = Math.ceil(n / columns), size = Math.min(w / columns, (0.85 * h) / rows);
    if (size > best.size) best = { columns, rows, size };
  }
  return best;
}

// Put the camera where what is looked at fills a cell. Once the user has turned it, it stays.
function fit(aspect) {
  const rig = lead().rig, key = [focus, aspect.toFixed(2), lead().track.rig].join();
  if (key === fitted || (turned && fitted.split(',')[0] === focus)) return;
  fitted = key;
  turned = false;
  const box = extent(rig), front = new Vector3(...rig.front), up = new Vector3(...rig.up);
  const left = new Vector3().crossVectors(up, front), target = new Vector3(...[0, 1, 2].map((k) => (box.lo[k] + box.hi[k]) / 2));
  const size = (axis) => Math.abs(axis.x) * (box.hi[0] - box.lo[0]) + Math.abs(axis.y) * (box.hi[1] - box.lo[1]) + Math.abs(axis.z) * (box.hi[2] - box.lo[2]);
  const slope = Math.tan((Math.PI / 180) * (camera.fov / 2));
  const way = focus === 'side' ? left.clone().addScaledVector(front, 0.35) : front.clone().addScaledVector(left, focus === 'mouth' ? 0.25 : 0.3).addScaledVector(up, 0.02);
  const [lowest, highest] = $('moving').checked && !travels(lead()) ? swing(lead().track, target, up) : [0, 0];
  target.addScaledVector(up, (lowest + highest) / 2);
  let high = 1.08 * size(up) + highest - lowest, wide = 1.1 * Math.max(size(left), 0.82 * size(front)), near = size(front) / 2;
  if (focus === 'mouth' && rig.mouth) {
    target.set(...rig.mouth);
    high = wide = Math.min(MOUTH_VIEW, 0.45 * size(up));
    near = 0;
  }
  const distance = Math.max(high, wide / aspect) / 2 / slope + 0.6 * near;
  camera.up.copy(up);
  camera.position.copy(target).addScaledVector(way.normalize(), distance);
  camera.near = box.radius / 50;
  camera.far = box.radius * 100;
  controls.target.copy(target);
  controls.update();
}

// --- a frame ---

// Frame of a view now. In a grid of all tracks the shorter ones start again.
function frameOf(view) {
  const end = view.track.times.at(-1), all = lead().track.times.at(-1);
  return frameAt(view.track, !pair && end > 0 && end < all ? time % end : time);
}

function evaluateAll(wanted) {
  for (const view of wanted) {
    view.frame = frameOf(view);
    evaluateExact(view, weightsOf(view));
  }
}

// The face that a view's difference is measured from: the other one of its pair.
function partnerOf(view) {
  const own = pair && (pair.after === view.index || pair.before === view.index) ? pair : data.pairs.find((p) => p.after === view.index);
  const partner = own && own.before !== view.index ? views[own.before] : null;
  return partner && partner.rig === view.rig ? partner : null;
}

function heatFrom(view) {
  if (!$('heat').checked) return null;
  const chosen = +$('reference').value;
  return chosen >= 0 ? views[chosen] : partnerOf(view) || view;
}

function update() {
  const over = overlaid(), times = +$('exaggerate').value, max = heatMax() / 1000;
  evaluateAll(new Set(shown.flatMap((v) => [v, partnerOf(v), heatFrom(v)]).filter(Boolean)));
  for (const view of shown) {
    pose(view, $('moving').checked);
    shape(view, partnerOf(view), times, weightsOf(view), true);
    for (const s of view.solids) s.wire.visible = $('wire').checked;
    paint(view, { heat: heatFrom(view), max, over: over && hue(view), crossings: $('crossings').checked });
    showMuscles(view, partnerOf(view), { on: muscleBoxes().map((b) => b.checked), thin: +$('thin').value, picked, times });
    if (view.markers) showMarkers(view, $('markers').checked, max);
  }
  $('scrub').value = lead().frame;
  $('clock').textContent = `${lead().frame} / ${lead().track.times.length - 1}  ${time.toFixed(2)} s`;
  showChart();
  showLabels();
  showPick();
  if (!document.body.classList.contains('folded')) showInForce();
}

// Names over the cells, with the number that the chart shows.
function showLabels() {
  const what = $('chart-what').value, over = overlaid();
  $('labels').textContent = '';
  $('labels').classList.toggle('many', shown.length > 2);
  if (views.length < 2) return;
  for (const view of shown) {
    const label = element('div', view.track.name), value = view.track.numbers?.[what]?.[view.frame];
    label.style.color = hue(view);
    if (view.track.note) label.append(element('small', view.track.note));
    if (value !== undefined && !over) label.append(element('b', `${what}: ${value >= 100 || Number.isInteger(value) ? Math.round(value) : value.toPrecision(2)}`));
    $('labels').append(label);
  }
}

function draw() {
  const stage = $('stage'), w = stage.clientWidth, h = stage.clientHeight;
  if (!w || !h) return;
  renderer.setSize(w, h, false);
  renderer.setScissorTest(true);
  const over = overlaid(), { columns, rows } = over ? { columns: 1, rows: 1 } : grid(Math.max(shown.length, 1), w, h);
  const cw = w / columns, ch = h / rows;
  camera.aspect = cw / ch;
  camera.updateProjectionMatrix();
  fit(camera.aspect);
  renderer.autoClear = false;
  renderer.setViewport(0, 0, w, h);
  renderer.setScissor(0, 0, w, h);
  renderer.clear();
  shown.forEach((view, i) => {
    const x = over ? 0 : (i % columns) * cw, y = over ? 0 : Math.floor(i / columns) * ch;
    renderer.setViewport(x, h - y - ch, cw, ch);
    renderer.setScissor(x, h - y - ch, cw, ch);
    renderer.render(view.scene, camera);
    view.cell = { x, y, width: cw, height: ch };
    const label = $('labels').children[i];
    if (!label) return;
    label.style.left = `${x + cw / 2}px`;
    label.style.top = `${y + 8 + (over ? 30 * i : 0)}px`;
  });
}

let last = 0, drawnSize = '';
function tick(now) {
  requestAnimationFrame(tick);
  const dt = Math.min((now - last) / 1000, 0.1);
  last = now;
  if (playing) {
    time += dt * +$('speed').value;
    if (time > lead().track.times.at(-1)) time = 0;
    dirty = true;
  }
  const stage = $('stage'), size = `${stage.clientWidth} ${stage.clientHeight}`;
  const moved = controls.update() || size !== drawnSize;
  if (dirty) update();
  if (dirty || moved) draw(); // a page that stands still costs nothing
  drawnSize = size;
  dirty = false;
}

function seek(t) {
  time = t;
  dirty = true;
}

function play(on) {
  playing = on;
  if (on) override = null;
  $('play').textContent = on ? '⏸' : '▶';
  $('play').setAttribute('aria-label', on ? 'Pause' : 'Play');
}

// --- what is shown ---

function show(list) {
  shown = list.length ? list : [views[0]];
  views.forEach((v, i) => ($('tracks').children[i].querySelector('input').checked = shown.includes(v)));
  const frames = lead().track.times.length;
  $('scrub').max = frames - 1;
  $('time-row').hidden = frames < 2;
  $('exaggerate-box').hidden = !shown.some(partnerOf);
  if (time > lead().track.times.at(-1)) time = 0;
  fillNumbers();
  showLegend();
  dirty = true;
}

// The numbers of the tracks shown; the one chosen stays if it can.
function fillNumbers() {
  const names = [...new Set(shown.flatMap((v) => Object.keys(v.track.numbers || {})))], old = $('chart-what').value;
  $('chart-what').textContent = '';
  for (const n of names) $('chart-what').append(new Option(n));
  if (names.includes(old)) $('chart-what').value = old;
  $('chart-box').hidden = !names.length;
}

function choosePair(p, jump) {
  pair = p;
  for (const [i, b] of [...$('pairs').children].entries()) b.setAttribute('aria-pressed', String((data.pairs[i] || null) === p));
  $('sentence').textContent = p ? p.sentence || '' : data.pairs.length ? 'Every track at once.' : '';
  $('chart-what').value = '';
  show(p ? [...new Set([p.before, p.after])].map((i) => views[i]) : views);
  showJumps(p?.jumps || []);
  $('exaggerate').value = p ? p.exaggerate : 1;
  showTimes();
  $('moving').checked = !p?.hold_head;
  const speed = [...$('speed').options].find((o) => +o.value === (p ? p.speed : 1));
  if (speed) $('speed').value = speed.value;
  look(p ? p.focus : 'head');
  if (jump && p?.jumps.length) seek(views[p.after].track.times[p.jumps[0].frame]);
}

function showJumps(jumps) {
  const frames = Math.max(lead().track.times.length - 1, 1);
  $('jumps').textContent = $('ticks').textContent = '';
  for (const j of jumps) {
    const button = element('button', `⇥ ${j.name}`, { 'data-frame': j.frame, title: `frame ${j.frame}` });
    button.onclick = () => jumpTo(j);
    $('jumps').append(button);
    const t = element('i', '');
    t.style.left = `calc(8px + (100% - 16px) * ${j.frame / frames})`;
    $('ticks').append(t);
  }
}

function jumpTo(j) {
  play(false);
  override = null;
  seek(lead().track.times[j.frame]);
}

function nextJump() {
  const jumps = [...(pair?.jumps || [])].sort((a, b) => a.frame - b.frame);
  if (jumps.length) jumpTo(jumps.find((j) => j.frame > lead().frame) || jumps[0]);
}

function look(where) {
  focus = where === 'mouth' && !lead().rig.mouth ? 'head' : where;
  fitted = '';
  for (const b of $('focus').children) b.setAttribute('aria-pressed', String(b.dataset.focus === focus));
  dirty = true;
}

// --- panel ---

function showChart() {
  const what = $('chart-what').value;
  const lines = shown.filter((v) => v.track.numbers?.[what]).map((v) => ({ color: hue(v), values: Array.from(v.track.numbers[what]) }));
  if (lines.length && $('chart').clientWidth) drawChart($('chart'), lines, lead().frame, lead().track.times.length);
}

function showTimes() {
  $('exaggerate-out').textContent = `×${(+$('exaggerate').value).toPrecision(2).replace(/\.0$/, '')}`;
}

function showLegend() {
  $('legend').hidden = !$('heat').checked && !($('markers').checked && shown.some((v) => v.markers?.vert));
  const stops = Array.from({ length: 9 }, (_, i) => `rgb(${ramp(i / 8).map((c) => Math.round(255 * c)).join(' ')})`);
  $('legend').innerHTML = `distance<i style="background:linear-gradient(90deg,${stops.join(',')})"></i><b><span>0</span><span>${heatMax().toPrecision(2)} mm</span></b>`;
  $('heat-max-out').textContent = `${heatMax().toPrecision(2)} mm`;
}

function buildPairs() {
  data.pairs.forEach((p, i) => {
    const button = element('button', p.name, { title: `key ${i + 1}` });
    button.onclick = () => choosePair(p, true);
    $('pairs').append(button);
  });
  if (views.length > 2) {
    const all = element('button', 'Show all', { title: 'key 0' });
    all.onclick = () => choosePair(null);
    $('pairs').append(all);
  }
  if (views.length < 2 || $('pairs').children.length < 2) $('pairs').hidden = true;
}

function buildTracks() {
  views.forEach((view, i) => {
    const label = element('label', ''), box = element('input', '', { type: 'checkbox' }), mark = element('i', '');
    box.onchange = () => show(views.filter((_, k) => $('tracks').children[k].querySelector('input').checked));
    mark.style.background = view.hue;
    label.append(box, mark, view.track.name, element('small', view.track.note || ''));
    $('tracks').append(label);
    $('reference').append(new Option(view.track.name, i));
  });
  $('tracks-box').hidden = views.length < 2;
  $('markers-box').hidden = !views.some((v) => v.markers);
  $('crossings-box').hidden = !views.some((v) => v.track.crossing);
}

function buildShapes() {
  const { shapes } = data.rigs[0];
  $('shapes-box').hidden = !shapes.length;
  shapes.forEach((shape, s) => {
    const label = element('label', ''), slider = element('input', '', { type: 'range', min: 0, max: 1, step: 0.01, 'aria-label': shape.name }), out = element('output', '');
    slider.value = 0;
    slider.oninput = () => {
      const weights = shown[0].track.weights;
      override ||= Float32Array.from(shapes, (_, i) => (weights && shown[0].rig === data.rigs[0] ? weights[shown[0].frame * shapes.length + i] : 0));
      override[s] = +slider.value;
      playing && play(false);
      dirty = true;
    };
    label.append(element('span', shape.name, { title: shape.name }), slider, out);
    $('shapes').append(label);
  });
  $('reset').onclick = () => ((override = null), (dirty = true));
  $('filter').oninput = () => {
    const want = $('filter').value.toLowerCase();
    for (const l of $('shapes').children) l.hidden = !l.textContent.toLowerCase().includes(want);
  };
}

// The weights in force: the sliders stand where the clip, or whatever replaces it, has each shape.
function showInForce() {
  const { shapes } = data.rigs[0], view = lead(), own = weightsOf(view), weights = view.rig === data.rigs[0] ? view.track.weights : null;
  [...$('shapes').children].forEach((label, s) => {
    const w = own ? own[s] : weights ? weights[view.frame * shapes.length + s] : 0, input = label.children[1];
    if (document.activeElement !== input || !override) input.value = w;
    label.children[2].textContent = Math.abs(w) < 5e-4 ? '' : w.toFixed(2);
  });
}

// --- picks ---

const numberOf = (frame) => parseInt(lead().track.labels[frame]);

function showPick() {
  const { labels } = lead().track;
  $('pick-box').hidden = !labels;
  if (!labels) return;
  const on = picks.has(lead().frame);
  $('label').textContent = labels[lead().frame];
  $('pick').textContent = on ? '★ Picked' : '☆ Pick';
  $('pick').setAttribute('aria-pressed', String(on));
}

function togglePick() {
  const { labels } = lead().track, frame = lead().frame;
  if (!labels) return;
  if (!picks.delete(frame)) picks.add(frame);
  $('picks').textContent = '';
  for (const f of [...picks].sort((a, b) => a - b)) {
    const b = element('button', labels[f]);
    b.onclick = () => seek(lead().track.times[f]);
    $('picks').append(b);
  }
  $('picks-box').hidden = !picks.size;
  $('picks-option').textContent = picks.size ? `--pick ${[...picks].map(numberOf).sort((a, b) => a - b).join(',')}` : '';
  dirty = true;
}

// --- muscles ---

const muscleBoxes = () => [...$('muscle-list').querySelectorAll('input')];

function buildMuscles() {
  const muscles = data.muscles || [];
  $('muscles-box').hidden = !muscles.length;
  if (!muscles.length) return void ($('thin').value = 1);
  muscles.forEach((m, i) => {
    const label = element('label', '', { 'data-muscle': i }), box = element('input', '', { type: 'checkbox', 'aria-label': m.name });
    box.checked = true;
    box.oninput = () => (dirty = true);
    const name = element('button', m.name, { title: 'mark it' });
    name.onclick = () => pick(i);
    label.append(box, name);
    $('muscle-list').append(label);
  });
  const all = (on) => () => (muscleBoxes().forEach((b) => (b.checked = on || (on === null && pulls(+b.parentElement.dataset.muscle)))), (dirty = true));
  $('muscles-all').onclick = all(true);
  $('muscles-none').onclick = all(false);
  $('muscles-pull').onclick = all(null);
  $('muscle-filter').oninput = () => {
    const want = $('muscle-filter').value.toLowerCase();
    for (const l of $('muscle-list').children) l.hidden = !l.textContent.toLowerCase().includes(want);
  };
  $('thin').oninput = () => (dirty = true);
  let from = null;
  $('view').addEventListener('pointerdown', (e) => (from = [e.clientX, e.clientY]));
  $('view').addEventListener('pointerup', (e) => from && Math.hypot(e.clientX - from[0], e.clientY - from[1]) < 5 && pick(muscleAt(e.offsetX, e.offsetY)));
}

const pulls = (i) => views.some((v) => v.muscles[i]?.activation > 0);

// The muscle at a point of the stage, -1: none.
function muscleAt(x, y) {
  const view = [...shown].reverse().find(({ cell: c }) => c && x >= c.x && x < c.x + c.width && y >= c.y && y < c.y + c.height);
  if (!view?.muscles.length || +$('thin').value >= 1) return -1;
  const ray = new Raycaster(), c = view.cell;
  ray.setFromCamera(new Vector2(((x - c.x) / c.width) * 2 - 1, 1 - ((y - c.y) / c.height) * 2), camera);
  return ray.intersectObjects(view.muscles.map((m) => m.mesh).filter((m) => m.visible))[0]?.object.userData.muscle ?? -1;
}

// Mark a muscle and say what it is; -1: none.
function pick(i) {
  picked = i === picked ? -1 : i;
  const m = data.muscles[picked], box = $('muscle-info');
  box.hidden = !m;
  dirty = true;
  for (const l of $('muscle-list').children) l.classList.toggle('picked', +l.dataset.muscle === picked);
  if (!m) return;
  box.textContent = '';
  box.append(element('b', m.name), element('span', m.bone === 'none' ? 'held by no bone' : `held by the ${m.bone}`), element('span', `${m.force.toFixed(1)} N at full strength`));
  for (const v of shown) {
    const a = v.muscles[picked]?.activation;
    if (a !== undefined) box.append(element('span', `${v.track.name}: activation ${a.toFixed(2)}, ${(a * m.force).toFixed(1)} N`));
  }
}

function buildControls() {
  $('scrub').oninput = () => (play(false), seek(lead().track.times[+$('scrub').value]));
  $('play').onclick = () => play(!playing);
  $('chart').onpointerdown = $('chart').onpointermove = (e) => {
    if (e.buttons) seek(lead().track.times[chartFrame($('chart'), e, lead().track.times.length)]);
  };
  $('pick').onclick = togglePick;
  $('picks-copy').onclick = () => navigator.clipboard?.writeText($('picks-option').textContent);
  if (data.sliders) {
    $('sliders-box').hidden = false;
    document.body.classList.remove('folded');
    $('fold').setAttribute('aria-expanded', 'true');
    sliders = buildSliders($('sliders'), data.sliders, element, () => ((override = null), (dirty = true)));
  }
  $('fold').onclick = () => ($('fold').setAttribute('aria-expanded', String(!document.body.classList.toggle('folded'))), (dirty = true));
  for (const b of $('focus').children) b.onclick = () => look(b.dataset.focus);
  $('focus').querySelector('[data-focus=mouth]').hidden = !data.rigs.some((r) => r.mouth);
  for (const id of ['wire', 'moving', 'markers', 'crossings', 'heat', 'reference', 'heat-max', 'layout', 'chart-what', 'exaggerate'])
    $(id).addEventListener('input', () => (showLegend(), showTimes(), (dirty = true)));
  controls.addEventListener('start', () => (turned = true));
  window.addEventListener('keydown', onKey);
}

function onKey(e) {
  const typing = e.target.matches('input, select'), pressing = e.target.matches('button') && (e.key === ' ' || e.key === 'Enter');
  if (typing || pressing || e.ctrlKey || e.altKey || e.metaKey) return;
  const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key], times = lead().track.times;
  if (e.key === ' ') play(!playing);
  else if (step) play(false), seek(times[Math.min(Math.max(lead().frame + step, 0), times.length - 1)]);
  else if (e.key === 'j') nextJump();
  else if (e.key === 'p') togglePick();
  else if (e.key === 'm') look(focus === 'mouth' ? 'head' : 'mouth');
  else if (e.key === 'h') $('heat').click();
  else if (e.key === '0' && views.length > 2) choosePair(null);
  else if (data.pairs[+e.key - 1] && views.length > 1) choosePair(data.pairs[+e.key - 1], true);
  else return;
  e.preventDefault();
}

async function main() {
  data = await load($('fascia-data'));
  renderer = new WebGLRenderer({ canvas: $('view'), antialias: true, preserveDrawingBuffer: true });
  renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
  renderer.setClearColor(new Color(0x242220));
  camera = new PerspectiveCamera(24, 1, 0.01, 100);
  controls = new OrbitControls(camera, $('view'));
  controls.enableDamping = true;
  views = data.tracks.map((t, i) => makeView(data, t, i));
  document.title = $('title').textContent = data.title;
  $('facts').textContent = data.facts || '';
  buildPairs();
  buildTracks();
  buildShapes();
  buildMuscles();
  buildControls();
  choosePair(data.pairs[0] || null, true);
  $('message').remove();
  // for tests and the curious: the numbers behind the picture
  window.fascia = {
    data,
    ready: true,
    tracks: data.tracks.map((t) => t.name),
    seek: (t) => (play(false), seek(t), update()),
    frame: () => lead().frame,
    late: () => dirty, // what was asked for is not drawn yet
    shown: () => shown.map((v) => ({ track: v.index, cell: v.cell })),
    pair: () => data.pairs.indexOf(pair),
    exact: (i) => (evaluateAll([views[i]]), Array.from(views[i].exact)), // vertices of a track as stored
    drawn: (i) => Array.from(views[i].solids[0].x), // as shown
    // the part of a cell's height that the head fills, and how far its middle is from the cell's, in heights of the cell
    framed: (i) => framed(views[i], camera),
    slide: (weights) => ((override = weights && Float32Array.from(data.rigs[0].shapes, (s) => weights[s.name] || 0)), update()), // as sliders do
    parts: (i) => (shape(views[i], null, 1, override), views[i].solids.slice(1).map((s) => ({ name: s.part.name, x: Array.from(s.x) }))), // meshes that come along
    muscles: (i) => views[i].muscles.map((m, k) => ({ name: data.muscles[k].name, activation: m.activation, visible: m.mesh.visible, x: Array.from(m.x) })),
    picks: () => $('picks-option').textContent,
    response, // of a spring {m, c, k} at t
    sliders: (i) => (sliders ? Array.from(weightsOf(views[i])) : null), // weights in force on a face
    picked: () => data.muscles?.[picked]?.name || null,
    // points of the way that is drawn for it in a track, 0: none is
    way: (i) => (views[i].ways?.lines.visible ? views[i].ways.lines.geometry.attributes.position.count : 0),
    // where a muscle's middle vertex is on the stage, in the cell of a track
    muscleOn: (i, name) => {
      const k = data.muscles.findIndex((m) => m.name === name), x = views[i].muscles[k].x, at = 3 * Math.floor(x.length / 6), c = views[i].cell;
      const p = new Vector3(x[at], x[at + 1], x[at + 2]).project(camera);
      return [c.x + ((p.x + 1) / 2) * c.width, c.y + ((1 - p.y) / 2) * c.height];
    },
    markers: (i) => (views[i].markers?.balls.visible ? { names: views[i].markers.names, x: Array.from(views[i].markers.now) } : null),
  };
  requestAnimationFrame(tick);
}

main().catch((e) => {
  $('message').textContent = `This page cannot be shown: ${e.message}`;
  console.error(e);
});
