// The page's data: one gzip block of a JSON header and binary sections, and the evaluation of a frame from it.
//
//   "FASCIAPG" | u32 header bytes | header JSON | padding to 8 | sections
//
// Every track is the mesh of one of the rigs: positions = base + shapes * weights + its own extra targets * their weights.
// That is how a glTF engine evaluates morph targets, in the same order and precision.

const TYPES = { f64: Float64Array, f32: Float32Array, u32: Uint32Array, i32: Int32Array, u16: Uint16Array, u8: Uint8Array };

async function inflate(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).arrayBuffer();
}

export async function load(element) {
  const buffer = await inflate(element.textContent.trim());
  const magic = new TextDecoder().decode(new Uint8Array(buffer, 0, 8));
  if (magic !== 'FASCIAPG') throw new Error('this page holds no fascia data');
  const size = new DataView(buffer).getUint32(8, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 12, size)));
  const start = Math.ceil((12 + size) / 8) * 8;
  // {"type": "f32", "offset": 0, "count": 12} becomes a typed array
  const open = (value) => {
    if (Array.isArray(value)) return value.map(open);
    if (!value || typeof value !== 'object') return value;
    if (value.section) return new TYPES[value.section](buffer, start + value.offset, value.count);
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, open(v)]));
  };
  return open(header);
}

// x += w * deltas of one sparse target
function add(x, rows, deltas, first, count, w) {
  for (let e = first; e < first + count; e++) {
    const v = 3 * rows[e], d = 3 * e;
    x[v] += w * deltas[d];
    x[v + 1] += w * deltas[d + 1];
    x[v + 2] += w * deltas[d + 2];
  }
}

// Weight of a part's shape under the face's weights: that of one of its shapes, or between left and right.
function led(shape, weights) {
  if (shape.index < 0) return shape.rest || 0;
  return shape.other >= 0 ? (weights[shape.index] + weights[shape.other]) / 2 : weights[shape.index];
}

// Positions of a mesh that comes along (eyes, teeth). motion: what it does in the track, its own weights and places; without
// one, and under weights that replace the clip's, its shapes and the jaw go by the face's weights.
export function evaluatePart(rig, part, motion, track, frame, x, override) {
  x.set(part.base);
  const n = rig.shapes.length, own = override ? null : motion?.weights;
  const face = override || track.weights?.subarray(frame * n, frame * n + n);
  part.shapes.forEach((shape, i) => {
    const w = own ? own[frame * part.shapes.length + i] : face ? led(shape, face) : 0;
    if (w !== 0) add(x, part.rows, part.deltas, shape.first, shape.count, w);
  });
  const place = !override && motion?.place ? motion.place.subarray(12 * frame, 12 * frame + 12) : part.place;
  if (place) move(x, place);
  if (override && part.jaw && rig.jawMotion) move(x, jawPlace(rig.jawMotion, override));
  return x;
}

// Rotation by a vector, rows of a 3x3 matrix.
function turn([x, y, z]) {
  const a = Math.hypot(x, y, z), s = a > 1e-12 ? Math.sin(a) / a : 1, c = a > 1e-12 ? (1 - Math.cos(a)) / (a * a) : 0.5;
  return [1 - c * (y * y + z * z), c * x * y - s * z, c * x * z + s * y, c * x * y + s * z, 1 - c * (x * x + z * z), c * y * z - s * x, c * x * z - s * y, c * y * z + s * x, 1 - c * (x * x + y * y)];
}

// Where the jaw is under these weights, rows of a 3x4 matrix: fai_jaw_pose of the library.
export function jawPlace(jaw, weights) {
  const open = jaw.opens.reduce((sum, [shape, share]) => sum + share * weights[shape], 0);
  const side = [0, 0, 0], way = jaw.slide.map((v) => open * v);
  for (const [shape, ...m] of jaw.moves)
    for (let k = 0; k < 3; k++) {
      side[k] += weights[shape] * m[k];
      way[k] += weights[shape] * m[3 + k];
    }
  const a = turn(jaw.axis.map((v) => open * jaw.angle * v)), b = turn(side), place = [];
  for (let i = 0; i < 3; i++) {
    const row = [0, 1, 2].map((j) => a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j]);
    place.push(...row, jaw.hinge[i] + way[i] - row[0] * jaw.hinge[0] - row[1] * jaw.hinge[1] - row[2] * jaw.hinge[2]);
  }
  return place;
}

// A body's points: share of each goes with the head (rows of a 3x4 matrix), the rest by a step alone. share null: all of it.
export function carry(x, share, head, step) {
  for (let v = 0; v < x.length; v += 3) {
    const s = share ? share[v / 3] : 1, a = x[v], b = x[v + 1], c = x[v + 2];
    for (let k = 0; k < 3; k++) x[v + k] = s * (head[4 * k] * a + head[4 * k + 1] * b + head[4 * k + 2] * c + head[4 * k + 3]) + (1 - s) * ([a, b, c][k] + step[k]);
  }
}

// x = m x, rows of a 3x4 matrix
function move(x, m) {
  for (let v = 0; v < x.length; v += 3) {
    const a = x[v], b = x[v + 1], c = x[v + 2];
    for (let k = 0; k < 3; k++) x[v + k] = m[4 * k] * a + m[4 * k + 1] * b + m[4 * k + 2] * c + m[4 * k + 3];
  }
}

// Positions of a frame of a track. override: shape weights that replace the clip's (then the extra targets are off).
export function evaluate(rig, track, frame, x, override) {
  x.set(rig.base);
  const n = rig.shapes.length;
  for (let s = 0; s < n; s++) {
    const w = override ? override[s] : track.weights ? track.weights[frame * n + s] : 0;
    if (w !== 0) add(x, rig.rows, rig.deltas, rig.shapes[s].first, rig.shapes[s].count, w);
  }
  if (override || !track.extra) return x;
  const { first, rows, deltas, weights } = track.extra;
  const k = first.length - 1;
  for (let t = 0; t < k; t++) {
    const w = weights[frame * k + t];
    if (w !== 0) add(x, rows, deltas, first[t], first[t + 1] - first[t], w);
  }
  return x;
}

// Area-weighted vertex normals; vertices split at seams share theirs through `weld`.
export function normals(tri, weld, x, out) {
  out.fill(0);
  for (let i = 0; i < tri.length; i += 3) {
    const a = 3 * tri[i], b = 3 * tri[i + 1], c = 3 * tri[i + 2];
    const ux = x[b] - x[a], uy = x[b + 1] - x[a + 1], uz = x[b + 2] - x[a + 2];
    const vx = x[c] - x[a], vy = x[c + 1] - x[a + 1], vz = x[c + 2] - x[a + 2];
    const nx = uy * vz - uz * vy, ny = uz * vx - ux * vz, nz = ux * vy - uy * vx;
    for (let k = 0; k < 3; k++) {
      const v = 3 * (weld ? weld[tri[i + k]] : tri[i + k]);
      out[v] += nx;
      out[v + 1] += ny;
      out[v + 2] += nz;
    }
  }
  for (let v = 0; v < out.length; v += 3) {
    const l = Math.hypot(out[v], out[v + 1], out[v + 2]) || 1;
    out[v] /= l;
    out[v + 1] /= l;
    out[v + 2] /= l;
  }
  if (weld)
    for (let v = 0; v < weld.length; v++) {
      const r = weld[v];
      if (r !== v) for (let k = 0; k < 3; k++) out[3 * v + k] = out[3 * r + k];
    }
}

// A track's markers: places (frames x markers x 3, m) out of the differences that are stored.
export function markerPlaces(markers) {
  const { lo, step, move, seen, names } = markers, n = names.length, x = new Float32Array(move.length).fill(NaN);
  for (let i = 0; i < n; i++)
    for (let f = i, last = [0, 0, 0]; f < seen.length; f += n)
      for (let k = 0; k < 3 && seen[f]; k++) x[3 * f + k] = lo[k] + step * (last[k] = (last[k] + move[3 * f + k]) & 65535);
  return x;
}

// Frame of a track at a time in seconds.
export function frameAt(track, time) {
  const t = track.times;
  let lo = 0, hi = t.length - 1;
  while (lo < hi) {
    const mid = (lo + hi + 1) >> 1;
    if (t[mid] <= time + 1e-9) lo = mid;
    else hi = mid - 1;
  }
  return lo;
}
