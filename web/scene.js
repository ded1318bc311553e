// What is drawn of a track: its meshes, its markers, their colours.
import {
  AmbientLight, BufferAttribute, BufferGeometry, Color, DirectionalLight, DoubleSide, HemisphereLight, IcosahedronGeometry,
  InstancedMesh, LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshBasicMaterial, MeshStandardMaterial, Quaternion, Scene, SRGBColorSpace, Vector3,
} from 'three';
import { carry, evaluate, evaluatePart, markerPlaces, normals } from './data.js';

export const HUES = ['#e8a07c', '#7cb8e8', '#9fd18b', '#e8d37c', '#c79be8', '#8be0d0', '#e88fae', '#b8c0c8'];
const CROSSING = [0.95, 0.02, 0.03];
const MATERIALS = {
  skin: { color: 0xdcb8a4, roughness: 0.6 }, eye: { color: 0xf3f0ea, roughness: 0.12 }, teeth: { color: 0xf2ead8, roughness: 0.3 },
  mouth: { color: 0xa8544c, roughness: 0.5 }, bone: { color: 0xe6dcc4, roughness: 0.8 }, other: { color: 0x9a9690, roughness: 0.7 },
};

export function makeView(data, track, index) {
  const scene = new Scene(), rig = data.rigs[track.rig];
  // the light comes from the face's own left, up and front, whichever way the mesh's axes are
  const up = new Vector3(...rig.up), front = new Vector3(...rig.front), left = new Vector3().crossVectors(up, front);
  const from = (light, x, y, z) => (light.position.set(0, 0, 0).addScaledVector(left, x).addScaledVector(up, y).addScaledVector(front, z), light);
  scene.add(from(new HemisphereLight(0xffffff, 0x5a5654, 1.0), 0, 1, 0), new AmbientLight(0xffffff, 0.25));
  scene.add(from(new DirectionalLight(0xfff4ea, 2.3), 0.6, 0.9, 1.2), from(new DirectionalLight(0xcfe0ff, 0.5), -0.9, 0.5, -0.8));
  const solids = [rig, ...rig.parts].map((part, i) => ({ ...makeSolid(scene, part), motion: i ? track.parts?.[i - 1] : null }));
  track.origin = rig.body?.rest || track.head; // what the head's motion is counted from
  const radius = extent(rig).radius;
  const markers = track.markers && makeMarkers(scene, track.markers);
  // exact: the positions as stored; those of solids[0] may be exaggerated, and those of a body are where its head has turned to
  const exact = new Float32Array(rig.base.length), surface = rig.body ? new Float32Array(rig.base.length) : solids[0].x;
  const muscles = track.muscles ? makeMuscles(scene, data.muscles, track.muscles) : [];
  if (muscles.length) glaze(scene, solids[0]);
  const ways = track.muscles?.lines ? makeWays(scene) : null;
  return { index, track, rig, scene, solids, markers, muscles, ways, radius, frame: 0, exact, surface, head: new Matrix4(), hue: HUES[index % HUES.length] };
}

// Markers as small balls, each joined to the surface point it belongs to where that is known.
function makeMarkers(scene, markers) {
  const n = markers.names.length;
  const balls = new InstancedMesh(new IcosahedronGeometry(1, 2), new MeshBasicMaterial(), n);
  const ends = new BufferAttribute(new Float32Array(6 * n), 3), g = new BufferGeometry();
  g.setAttribute('position', ends);
  const lines = new LineSegments(g, new LineBasicMaterial({ color: 0xfff0c8 }));
  balls.frustumCulled = lines.frustumCulled = false;
  scene.add(balls, lines);
  return { ...markers, balls, ends, lines, x: markerPlaces(markers), now: new Float32Array(3 * n) };
}

// Muscles of a track: pale where they rest, deep red where they pull.
const PALE = new Color(0xd9a594), DEEP = new Color(0xa8100c);
function makeMuscles(scene, muscles, pull) {
  let first = 0;
  return muscles.map((m, i) => {
    const n = m.base.length, at = pull.x ? pull.x.subarray(first, first + n) : m.base, activation = pull.activation?.[i] || 0;
    const g = new BufferGeometry(), x = Float32Array.from(at), normal = new Float32Array(n);
    first += n;
    normals(m.tri, null, x, normal);
    g.setAttribute('position', new BufferAttribute(x, 3));
    g.setAttribute('normal', new BufferAttribute(normal, 3));
    g.setIndex(new BufferAttribute(m.tri, 1));
    const color = PALE.clone().lerp(DEEP, activation ** 0.7);
    const mesh = new Mesh(g, new MeshStandardMaterial({ color, roughness: 0.5, side: DoubleSide }));
    mesh.userData = { muscle: i };
    scene.add(mesh);
    return { mesh, base: m.base, exact: at, x, normal, activation, color };
  });
}

// The way of the muscle that is picked, drawn over everything.
function makeWays(scene) {
  const lines = new LineSegments(new BufferGeometry(), new LineBasicMaterial({ vertexColors: true, depthTest: false, transparent: true }));
  lines.frustumCulled = lines.visible = false;
  lines.renderOrder = 3;
  scene.add(lines);
  return { lines, picked: -1 };
}

// Its middle at the moments of the way, pale at rest and golden in the end, and how its points go from one to the next.
function fillWays({ ways, track, muscles }, picked) {
  const all = track.muscles.lines, n = track.muscles.nlines, size = all.length / muscles.length, points = size / n / 3, x = [], color = [];
  const add = (l, p) => {
    const at = picked * size + 3 * (l * points + p), s = l / (n - 1);
    x.push(...all.subarray(at, at + 3));
    color.push(1, 1 - 0.3 * s, 1 - 0.85 * s);
  };
  for (let l = 0; l < n; l++)
    for (let p = 0; p < points; p++) {
      if (p + 1 < points) add(l, p), add(l, p + 1);
      if (l + 1 < n) add(l, p), add(l + 1, p);
    }
  ways.lines.geometry.setAttribute('position', new BufferAttribute(new Float32Array(x), 3));
  ways.lines.geometry.setAttribute('color', new BufferAttribute(new Float32Array(color), 3));
}

function showWays(view, picked, skin, clear) {
  const { ways } = view;
  if (!ways) return;
  if (picked >= 0 && picked !== ways.picked) fillWays(view, picked);
  ways.picked = picked;
  ways.lines.visible = picked >= 0 && clear;
  ways.lines.quaternion.copy(skin.quaternion);
  ways.lines.position.copy(skin.position);
}

// How far along its way a view is, where its muscles rise with its frames.
const risen = (view) => (view.track.muscles.rise ? view.frame / Math.max(1, view.track.times.length - 1) : 1);
const partWay = (m, share, k) => m.base[k] + share * (m.exact[k] - m.base[k]);

// Skin that can be made transparent: its depth is drawn before its colour, so that one sees through one layer of it, and outlines stay.
function glaze(scene, skin) {
  const thin = { value: 1 }, depth = new Mesh(skin.mesh.geometry, new MeshBasicMaterial({ colorWrite: false, side: DoubleSide }));
  skin.mesh.material.onBeforeCompile = (shader) => {
    shader.uniforms.thin = thin;
    shader.fragmentShader = shader.fragmentShader
      .replace('void main() {', 'uniform float thin;\nvoid main() {')
      .replace('#include <opaque_fragment>', 'diffuseColor.a *= mix(thin, 1.0, pow(1.0 - abs(dot(normalize(normal), normalize(vViewPosition))), 2.5));\n#include <opaque_fragment>');
  };
  depth.frustumCulled = false;
  depth.renderOrder = 1;
  skin.mesh.renderOrder = 2;
  scene.add(depth);
  skin.glaze = { thin, depth };
}

// on: which muscles are shown; thin: how much of the skin is left, 1: all of it; picked: number of the one that is marked, or -1; times: as in shape.
export function showMuscles(view, partner, { on, thin, picked, times }) {
  if (!view.muscles.length) return;
  const skin = view.solids[0], { glaze: g } = skin, clear = thin < 1, from = partner?.muscles.length && times !== 1 ? partner.muscles : null;
  g.thin.value = thin;
  g.depth.visible = clear;
  g.depth.quaternion.copy(skin.mesh.quaternion);
  g.depth.position.copy(skin.mesh.position);
  skin.mesh.material.transparent ||= clear;
  skin.mesh.material.needsUpdate ||= g.clear !== clear;
  g.clear = clear;
  showWays(view, picked, skin.mesh, clear);
  const share = risen(view), partly = from ? risen(partner) : 1, now = `${times} ${share} ${partly}`;
  view.muscles.forEach((m, i) => {
    m.mesh.visible = clear && on[i];
    m.mesh.quaternion.copy(skin.mesh.quaternion);
    m.mesh.position.copy(skin.mesh.position);
    m.mesh.material.emissive.set(i === picked ? 0x4a3a10 : 0x000000);
    if (m.now === now) return;
    m.now = now;
    for (let k = 0; k < m.x.length; k++) {
      const a = from ? partWay(from[i], partly, k) : 0, b = share === 1 ? m.exact[k] : partWay(m, share, k);
      m.x[k] = from ? a + times * (b - a) : b;
    }
    const g = m.mesh.geometry;
    normals(g.index.array, null, m.x, m.normal);
    g.attributes.position.needsUpdate = g.attributes.normal.needsUpdate = true;
    g.computeBoundingSphere();
  });
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

// Box of a rig's head along its own axes, at rest, and the radius of the ball around it, m: of a body its head, else all of it.
export function extent(rig) {
  if (rig.headBox) return { ...rig.headBox, radius: Math.hypot(...[0, 1, 2].map((k) => rig.headBox.hi[k] - rig.headBox.lo[k])) / 2 };
  const lo = [Infinity, Infinity, Infinity], hi = [-Infinity, -Infinity, -Infinity];
  for (let i = 0; i < rig.base.length; i++) {
    lo[i % 3] = Math.min(lo[i % 3], rig.base[i]);
    hi[i % 3] = Math.max(hi[i % 3], rig.base[i]);
  }
  return { lo, hi, radius: Math.hypot(...[0, 1, 2].map((k) => hi[k] - lo[k])) / 2 };
}

// The rigid motion of a track's head at a frame relative to its first, or on a body to where that rests; the camera stays there.
export function motionAt(track, frame) {
  const h = track.head, o = 7 * frame, q = new Quaternion(), p = new Vector3();
  if (h) {
    const r = track.origin, q0 = new Quaternion(r[0], r[1], r[2], r[3]).invert();
    q.copy(q0).multiply(new Quaternion(h[o], h[o + 1], h[o + 2], h[o + 3]));
    p.set(h[o + 4] - r[4], h[o + 5] - r[5], h[o + 6] - r[6]).applyQuaternion(q0);
  }
  return { q, p };
}

// How far the middle of the head goes along an axis: [lowest, highest], m.
export function swing(track, middle, axis) {
  let lo = 0, hi = 0;
  for (let f = 0; track.head && f < track.times.length; f++) {
    const { q, p } = motionAt(track, f), d = middle.clone().applyQuaternion(q).add(p).sub(middle).dot(axis);
    [lo, hi] = [Math.min(lo, d), Math.max(hi, d)];
  }
  return [lo, hi];
}

// A head that travels farther than a part of its size is followed: it turns in its place.
export function travels(view) {
  if (view.travels !== undefined) return view.travels;
  const { lo, hi, radius } = extent(view.rig);
  view.middle = new Vector3(...[0, 1, 2].map((k) => (lo[k] + hi[k]) / 2));
  const axes = [new Vector3(1, 0, 0), new Vector3(0, 1, 0), new Vector3(0, 0, 1)];
  return (view.travels = axes.some((a) => Math.max(...swing(view.track, view.middle, a).map(Math.abs)) > 0.7 * radius));
}

// Where the head is now, as the rigid motion of its frame (view.head). A body's points go there by their shares (shape), all else as a whole.
export function pose(view, moving) {
  const still = !moving || !view.track.head, { q, p } = still ? { q: new Quaternion(), p: new Vector3() } : motionAt(view.track, view.frame);
  if (!still && travels(view)) p.copy(view.middle).sub(view.middle.clone().applyQuaternion(q));
  view.head.makeRotationFromQuaternion(q).setPosition(p);
  // what is left alone stays where it is
  const whole = view.rig.body ? [] : view.solids.filter((s) => !s.motion?.alone).flatMap((s) => [s.mesh, s.wire]);
  for (const m of [...whole, ...(view.markers ? [view.markers.balls, view.markers.lines] : [])]) {
    m.quaternion.copy(q);
    m.position.copy(p);
  }
}

// Where the camera has the head of a view: the height of its box and the place of its middle, in heights of the picture.
export function framed(view, camera) {
  const { lo, hi } = extent(view.rig), y = [], x = [];
  camera.updateMatrixWorld();
  for (let c = 0; c < 8; c++) {
    const p = new Vector3(c & 1 ? hi[0] : lo[0], c & 2 ? hi[1] : lo[1], c & 4 ? hi[2] : lo[2]).applyMatrix4(view.head).project(camera);
    x.push((p.x * camera.aspect) / 2);
    y.push(p.y / 2);
  }
  const mid = (v) => (Math.min(...v) + Math.max(...v)) / 2;
  return { height: Math.max(...y) - Math.min(...y), off: Math.hypot(mid(x), mid(y)) };
}

// Positions of the view's frame as stored, into view.exact.
export function evaluateExact(view, override) {
  const own = override?.length === view.rig.shapes.length ? override : null;
  evaluate(view.rig, view.track, view.frame, view.exact, own);
}

// Where a body's points are, its head being where pose has put it.
function carryBody(view) {
  const e = view.head.elements, head = [0, 1, 2].flatMap((k) => [e[k], e[4 + k], e[8 + k], e[12 + k]]);
  const joint = new Vector3(...view.rig.body.pivot), step = joint.clone().applyMatrix4(view.head).sub(joint).toArray();
  view.surface.set(view.solids[0].x);
  for (const s of view.solids) carry(s.x, s.motion?.whole ? null : s.part.share, head, step);
}

// What is shown: the exact positions, or `times` the difference from the partner's on top of those; eyes and teeth. In the head's own
// frame, but for a body that is `carried`.
export function shape(view, partner, times, override, carried) {
  const x = view.solids[0].x, own = override?.length === view.rig.shapes.length ? override : null;
  x.set(view.exact);
  if (partner && times !== 1) for (let i = 0; i < x.length; i++) x[i] = partner.exact[i] + times * (x[i] - partner.exact[i]);
  for (const s of view.solids) if (s.part !== view.rig) evaluatePart(view.rig, s.part, s.motion, view.track, view.frame, s.x, own);
  if (carried && view.rig.body) carryBody(view);
  for (const s of view.solids) {
    normals(s.part.tri, s.part.weld, s.x, s.normal);
    s.position.needsUpdate = s.normalAttr.needsUpdate = true;
  }
}

export const ramp = (t) => {
  // dark blue - teal - yellow - red, readable for colour-blind eyes by its lightness
  const stops = [[0.16, 0.2, 0.42], [0.13, 0.55, 0.6], [0.95, 0.86, 0.45], [0.84, 0.16, 0.12]];
  const s = Math.min(Math.max(t, 0), 1) * 3, i = Math.min(Math.floor(s), 2), f = s - i;
  return stops[i].map((a, k) => a + (stops[i + 1][k] - a) * f);
};

// look: { heat: view to measure from or null, max: m at the end of the scale, over: its colour where it is drawn over others, crossings }
export function paint(view, look) {
  const heat = look.heat && look.heat.exact.length === view.exact.length ? look.heat.exact : null;
  for (const s of view.solids) {
    const skin = s === view.solids[0], c = s.part.colors;
    if (heat && skin)
      for (let v = 0; v < s.x.length; v += 3) {
        const a = view.exact, d = Math.hypot(a[v] - heat[v], a[v + 1] - heat[v + 1], a[v + 2] - heat[v + 2]);
        s.color.set(ramp(d / look.max), v);
      }
    else if (c) for (let i = 0; i < c.length; i++) s.color[i] = (c[i] / 255) ** 2.2;
    else s.color.fill(1);
    if (skin && look.crossings && !heat) paintCrossings(view, s);
    s.mesh.material.color.set((heat && skin) || (c && !look.over) ? 0xffffff : look.over && skin ? look.over : s.look.color);
    s.mesh.material.transparent = !!look.over;
    s.mesh.material.opacity = look.over ? 0.55 : 1;
    s.colorAttr.needsUpdate = true;
  }
}

function paintCrossings(view, s) {
  const { first, tri } = view.track.crossing || {};
  for (let i = first ? first[view.frame] : 0; first && i < first[view.frame + 1]; i++)
    for (let k = 0; k < 3; k++) s.color.set(CROSSING, 3 * s.part.tri[3 * tri[i] + k]);
}

// The markers of a frame; with a map their colour and their lines tell how far the surface is off.
const place = new Matrix4(), tint = new Color();
export function showMarkers(view, on, max) {
  const d = view.markers, size = 0.011 * view.radius, x = view.surface;
  d.balls.visible = on;
  d.lines.visible = on && !!d.vert;
  for (let i = 0; i < d.names.length; i++) {
    const at = d.now.subarray(3 * i, 3 * i + 3), to = [0, 0, 0];
    at.set(d.x.subarray(3 * (view.frame * d.names.length + i), 3 * (view.frame * d.names.length + i) + 3));
    const seen = at.every(Number.isFinite), mapped = d.vert && d.bary[3 * i] + d.bary[3 * i + 1] + d.bary[3 * i + 2] > 0;
    for (let k = 0; mapped && k < 9; k++) to[k % 3] += d.bary[3 * i + Math.floor(k / 3)] * x[3 * d.vert[3 * i + Math.floor(k / 3)] + (k % 3)];
    place.makeScale(size, size, size).setPosition(...(seen ? at : [0, 0, 0]));
    if (!seen) place.makeScale(0, 0, 0);
    d.balls.setMatrixAt(i, place);
    if (seen && mapped) tint.setRGB(...ramp(Math.hypot(at[0] - to[0], at[1] - to[1], at[2] - to[2]) / max), SRGBColorSpace);
    else tint.set(0x40c8e8);
    d.balls.setColorAt(i, tint);
    d.ends.array.set(seen && mapped ? [...at, ...to] : [0, 0, 0, 0, 0, 0], 6 * i);
  }
  d.balls.instanceMatrix.needsUpdate = d.balls.instanceColor.needsUpdate = d.ends.needsUpdate = true;
}
