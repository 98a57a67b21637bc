// What one row of the timeline shows: attempts as bars, and behind them the stretches in which the device was out.

import { h, svg, keyed } from '../dom.js';
import { clock, duration, millis, oneLine } from '../format.js';
import { deviceLooks, shape, taskLook } from '../status.js';

const live = { tone: 'busy', icon: 'play', word: 'running' };
const waiting = { tone: 'busy', icon: 'half', word: 'assigned' };
const outside = {
  silent: { tone: 'bad', icon: 'off', word: 'host silent' },
  draining: { tone: 'warn', icon: 'bars', word: 'host draining' },
  unknown: { tone: 'off', icon: 'question', word: 'not recorded' },
};

/** How a bar looks: of its ending, or of what it does while it has none. */
export function barLook(bar) {
  if (bar.ending) return taskLook(bar.ending);
  return bar.started_at ? live : waiting;
}

/** How a stretch looks. */
export function stretchLook(stretch) {
  if (Object.hasOwn(outside, stretch.state)) return outside[stretch.state];
  return Object.hasOwn(deviceLooks, stretch.state) ? deviceLooks[stretch.state] : { tone: 'warn', icon: 'question', word: stretch.state };
}

/** What a bar's task asks for, in one line. */
export function barLabel(bar) {
  const what = bar.workflow ? `workflow ${bar.workflow}` : oneLine(bar.goal, 120);
  return bar.count > 1 ? `${bar.count} attempts, such as: ${what}` : what;
}

/** A bar in a sentence, for screen readers and the table. */
export function barSentence(bar, device, now) {
  const look = barLook(bar);
  const begin = millis(bar.begin);
  const took = duration((bar.end ? millis(bar.end) : now) - begin);
  const code = bar.code && bar.code !== bar.ending ? ` with ${bar.code}` : '';
  return `${barLabel(bar)}. ${look.word}${code}, on ${device}, at ${clock(begin)} for ${took}`;
}

/** Where an attempt of a task is shown. */
export function barHref(bar) {
  return `/tasks/${encodeURIComponent(bar.task_id)}?attempt=${bar.attempt}`;
}

/** A key that stays while a bar grows, for elements that are kept. */
export function barKey(bar) {
  return `${bar.task_id} ${bar.attempt} ${bar.count}`;
}

/**
 * Draws the bars and stretches of a row into its lane.
 * @param {HTMLElement} lane
 * @param {any} row of the API, or undefined while it is not there yet
 * @param {{x: (at: number) => number, left: number, right: number, now: number}} scale pixels of times, and the edges to draw to
 */
export function drawRow(lane, row, scale) {
  const stretches = row?.stretches ?? [];
  const bars = row?.bars ?? [];
  const items = [];
  if (row && millis(row.registered_at) > scale.left) {
    items.push({ key: 'before', absent: true, begin: scale.left, end: millis(row.registered_at) });
  }
  for (const s of stretches) {
    items.push({ key: `s ${s.track} ${s.state} ${s.begin}`, stretch: s, begin: millis(s.begin), end: s.end ? millis(s.end) : scale.now });
  }
  for (const b of bars) items.push({ key: barKey(b), bar: b, begin: millis(b.begin), end: b.end ? millis(b.end) : scale.now });
  keyed(lane, items.filter((i) => i.end >= scale.left && i.begin <= scale.right), (i) => i.key, make, update);

  function make(item) {
    const node = item.bar ? makeBar(item.bar) : item.stretch ? makeStretch(item.stretch) : h('span', { class: 'tl-absent', 'aria-hidden': 'true' });
    update(node, item);
    return node;
  }

  function update(node, item) {
    place(node, item, scale);
    if (item.bar) dress(node, item.bar);
    node.item = item;
  }
}

/** Puts an element where its times are. */
export function place(node, item, scale) {
  const x = scale.x(Math.max(item.begin, scale.left));
  const width = Math.max(item.bar ? 3 : 1, scale.x(Math.min(item.end, scale.right)) - x);
  node.style.transform = `translateX(${x.toFixed(1)}px)`;
  node.style.width = `${width.toFixed(1)}px`;
  const size = width < 14 ? 'tiny' : width < 72 ? 'small' : 'full';
  if (node.dataset.size !== size) node.dataset.size = size;
}

/** Lets what an element says begin at the edge, when the element itself begins before it. */
export function keepInSight(node, item, scale, shift) {
  const x = scale.x(Math.max(item.begin, scale.left)) + shift;
  const hidden = x < 0 && scale.x(item.end) + shift > 30 ? Math.ceil(-x) + 9 : 0;
  if ((node.hiddenBy ?? 0) === hidden) return;
  node.hiddenBy = hidden;
  node.style.paddingLeft = hidden ? `${hidden}px` : '';
}

function makeBar(bar) {
  return h('a', { class: 'tl-bar', href: barHref(bar), tabindex: '-1', draggable: 'false' });
}

function dress(node, bar) {
  const look = barLook(bar);
  const as = `${look.word} ${bar.goal ?? ''} ${bar.workflow ?? ''} ${bar.count}`;
  if (node.dressed === as) return;
  node.dressed = as;
  node.dataset.tone = look.tone;
  node.dataset.ending = bar.ending || 'live';
  const says = bar.count > 1 ? `${bar.count}×` : barLabel(bar);
  node.setAttribute('aria-label', `${says}, ${look.word}`); // a narrow bar shows no text
  node.replaceChildren(shape(look.icon), h('span', { class: 'tl-text' }, says));
}

function makeStretch(stretch) {
  const look = stretchLook(stretch);
  return h('span', { class: 'tl-stretch', data: { tone: look.tone, state: stretch.state, track: stretch.track } },
    stretch.state === 'cleaning' ? null : [shape(look.icon), h('span', { class: 'tl-text' }, look.word)]);
}

/** The axis of times above the rows. */
export function drawAxis(axis, marks, scale, height) {
  const parts = [];
  for (const t of marks) {
    const x = scale.x(t.at).toFixed(1);
    parts.push(svg('line', { x1: x, x2: x, y1: height - 7, y2: height, class: t.day ? 'day' : '' }));
    parts.push(svg('text', { x, y: height - 11, class: t.day ? 'day' : '', 'text-anchor': 'middle' }, tickText(t)));
  }
  axis.replaceChildren(...parts);
}

const fine = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const coarse = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const ofDay = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short' });

function tickText(t) {
  if (t.day) return ofDay.format(t.at);
  return (t.step < 60000 ? fine : coarse).format(t.at);
}
