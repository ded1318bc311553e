// A small line chart of numbers per frame, with a cursor that follows the scrubber.
export function drawChart(canvas, lines, frame, frames) {
  const ratio = window.devicePixelRatio || 1;
  const w = canvas.clientWidth, h = canvas.clientHeight;
  canvas.width = w * ratio;
  canvas.height = h * ratio;
  const g = canvas.getContext('2d');
  g.scale(ratio, ratio);
  g.clearRect(0, 0, w, h);
  const left = 38, right = w - 4, top = 6, bottom = h - 16;
  let most = 0;
  for (const l of lines) for (const v of l.values) if (v > most) most = v;
  most = most || 1;
  const px = (f) => left + ((right - left) * f) / Math.max(frames - 1, 1);
  const py = (v) => bottom - ((bottom - top) * v) / most;
  g.font = '10px system-ui, sans-serif';
  g.strokeStyle = '#4a4744';
  g.fillStyle = '#a39e97';
  g.textAlign = 'right';
  for (let i = 0; i <= 2; i++) {
    const v = (most * i) / 2;
    g.beginPath();
    g.moveTo(left, py(v));
    g.lineTo(right, py(v));
    g.stroke();
    g.fillText(v.toPrecision(2), left - 4, py(v) + 3);
  }
  g.fillText(String(frames - 1), right, h - 4);
  g.textAlign = 'left';
  g.fillText('0', left, h - 4);
  for (const l of lines) {
    g.strokeStyle = l.color;
    g.lineWidth = 1.5;
    g.beginPath();
    l.values.forEach((v, f) => (f ? g.lineTo(px(f), py(v)) : g.moveTo(px(f), py(v))));
    g.stroke();
  }
  g.strokeStyle = '#fff9';
  g.lineWidth = 1;
  g.beginPath();
  g.moveTo(px(frame), top);
  g.lineTo(px(frame), bottom);
  g.stroke();
}

export function chartFrame(canvas, event, frames) {
  const box = canvas.getBoundingClientRect();
  const t = (event.clientX - box.left - 38) / (box.width - 42);
  return Math.round(Math.min(Math.max(t, 0), 1) * (frames - 1));
}
