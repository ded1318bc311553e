// Sliders that one can pull: a weight, a moment t and a spring (m, c, k) for each target, as `fascia blend --weights --time`
// has them. What each comes to is set as weights of the rig: by the forces on one face, by linear blending on the other.

// E = exp(A), 3x3, by its series on a small part of A, squared back.
function exponential(a) {
  const times = (x, y) => x.map((_, i) => [0, 1, 2].reduce((sum, k) => sum + x[3 * Math.floor(i / 3) + k] * y[3 * k + (i % 3)], 0));
  const halvings = Math.max(0, Math.ceil(Math.log2(Math.max(...a.map(Math.abs)) * 3 + 1e-300)) + 1);
  const small = a.map((v) => v / 2 ** halvings), one = [1, 0, 0, 0, 1, 0, 0, 0, 1];
  let sum = one;
  for (let n = 14; n > 0; n--) sum = times(small, sum).map((v, i) => v / n + one[i]);
  for (let i = 0; i < halvings; i++) sum = times(sum, sum);
  return sum;
}

// Displacement at t after a force is switched on at rest: m x'' + c x' + k x = k.
export const step = ({ m, c, k }, t) => (t > 0 ? exponential([0, t, 0, (-k / m) * t, (-c / m) * t, t / m, 0, 0, 0])[2] : 0);

// The share of a target that is reached at t: 0 at 0, 1 at 1. null: swings back to the source at 1, which cannot be scaled.
export function response(spring, t) {
  const { m, c, k } = spring, q4 = Math.sqrt(Math.max(4 * m * k - c * c, 0)) / (2 * m);
  const end = step(spring, 1), largest = step(spring, q4 > Math.PI ? Math.PI / q4 : 1);
  return Math.abs(end) < 1e-3 * largest ? null : step(spring, t) / end;
}

const RANGES = { w: ['weight', 0, 1, 0.01], t: ['time t', 0, 1, 0.01], m: ['mass m', 0.1, 10, 0.05], c: ['damping c', 0, 40, 0.1], k: ['stiffness k', 0, 100, 0.5] };
const KINDS = [['Close to linear', 1.5, 8, 10], ['Fast, then slow', 0.8, 7.5, 20], ['Swings past', 0.5, 1.5, 20]];

// box: where the sliders go; changed: called after each change. The result has values and weights(shapes, linear).
export function buildSliders(box, sliders, element, changed) {
  const values = sliders.targets.map((_, i) => ({ w: i ? 0 : 1, t: 1, m: sliders.mass, c: sliders.damping, k: sliders.stiffness }));
  const inputs = [], said = [];
  const alike = element('input', '', { type: 'checkbox', id: 'alike' }), alikeRow = element('label', '');
  alike.checked = true;
  alikeRow.append(alike, ' All targets move alike, weights apart');
  alikeRow.hidden = sliders.targets.length < 2;
  const set = (i, what, value) => {
    for (const k of values.keys()) if (k === i || (alike.checked && what !== 'w')) values[k][what] = value;
    refresh();
  };
  function refresh() {
    values.forEach((v, i) => {
      for (const [what, { input, out }] of Object.entries(inputs[i])) (input.value = v[what]), (out.textContent = +v[what].toFixed(2));
      const s = response(v, v.t);
      said[i].textContent = s === null ? 'swings back to the source at t = 1: raise the damping' : `in force: ${(v.w * s).toFixed(3)}, linear ${(v.w * v.t).toFixed(3)}`;
    });
    changed();
  }
  const row = element('div', '', { class: 'row' });
  for (const [name, m, c, k] of KINDS) {
    const button = element('button', name, { title: `m ${m}, c ${c}, k ${k}` });
    button.onclick = () => (values.forEach((v) => Object.assign(v, { m, c, k })), refresh());
    row.append(button);
  }
  const run = element('button', '▶ 0 to 1', { id: 'slide-run' });
  run.onclick = () => {
    const begin = performance.now();
    const frame = (now) => {
      const t = Math.min((now - begin) / 1500, 1);
      values.forEach((v) => (v.t = t));
      refresh();
      if (t < 1) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  };
  row.append(run);
  box.append(row, alikeRow);
  sliders.targets.forEach((target, i) => {
    const part = element('fieldset', ''), own = {};
    part.append(element('legend', target.name));
    for (const [what, [name, min, max, by]] of Object.entries(RANGES)) {
      const label = element('label', '', { class: 'row' }), out = element('output', '');
      const input = element('input', '', { type: 'range', min, max, step: by, 'aria-label': `${target.name} ${name}`, 'data-target': i, 'data-what': what });
      input.oninput = () => set(i, what, +input.value);
      label.append(element('span', name), input, out);
      own[what] = { input, out };
      part.append(label);
    }
    said.push(element('small', '', { class: 'in-force' }));
    part.append(said[i]);
    inputs.push(own);
    box.append(part);
  });
  refresh();
  return {
    values,
    // weights of the rig's shapes: by the forces, or linear blending's at the same moments
    weights: (count, linear) => {
      const out = new Float32Array(count);
      values.forEach((v, i) => {
        const share = linear ? v.t : response(v, v.t) || 0;
        for (const s of sliders.targets[i].shapes) out[s] += v.w * share;
      });
      return out;
    },
  };
}
