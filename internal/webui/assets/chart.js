// The chart of the last hour: one bar a minute, by how tasks ended.

import { replace, svg } from './dom.js';
import { count, now } from './format.js';

const minutes = 60;
const width = 480;
const height = 96;
const kinds = ['done', 'failed', 'cancelled'];

/** Draws minutes, as /v1/overview gives them, into an element. */
export function throughputChart(node, throughput) {
  const end = Math.floor(now() / 60000);
  const bars = new Map(throughput.map((m) => [Math.floor(Date.parse(m.at) / 60000), m]));
  let most = 0;
  let total = 0;
  for (let i = 0; i < minutes; i++) {
    const m = bars.get(end - i);
    const n = m ? m.done + m.failed + m.cancelled : 0;
    total += n;
    most = Math.max(most, n);
  }
  const top = niceTop(most);
  const step = width / minutes;
  const drawn = [];
  for (let i = 0; i < minutes; i++) {
    const m = bars.get(end - minutes + 1 + i);
    let y = height;
    for (const kind of kinds) {
      const n = m?.[kind] ?? 0;
      if (n === 0) continue;
      const tall = Math.max(1.5, (n / top) * height);
      y -= tall;
      drawn.push(svg('rect', { class: `bar-${kind}`, x: i * step + 0.8, y, width: step - 1.6, height: tall, rx: 1 }));
    }
  }
  const key = `${end} ${top} ${throughput.map((m) => `${m.at}${m.done},${m.failed},${m.cancelled}`).join()}`;
  if (node.dataset.key === key) return;
  node.dataset.key = key;
  replace(node, svg('svg', {
    viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img',
    'aria-label': `Tasks that ended in each minute of the last hour: ${count(total)} in all, ${count(most)} at most.`,
  }, svg('path', { class: 'chart-grid', d: `M0 .5H${width}M0 ${height / 2}H${width}M0 ${height - 0.5}H${width}`, 'vector-effect': 'non-scaling-stroke' }), drawn));
  node.dataset.top = String(top);
}

function niceTop(n) {
  for (let unit = 1; ; unit *= 10) for (const f of [2, 4, 6, 8, 10]) if (f * unit >= n) return f * unit;
}
