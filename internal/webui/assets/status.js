// Statuses as people see them: a word, a colour (tone) and a shape each, so that none is told by its colour alone.

import { h, svg } from './dom.js';

/** @typedef {{tone: 'ok'|'bad'|'warn'|'busy'|'idle'|'off', icon: string, word: string}} Look */

/** Looks of a task's status, and of an attempt's ending. @type {Object<string, Look>} */
export const taskLooks = {
  queued: { tone: 'idle', icon: 'ring', word: 'queued' },
  assigned: { tone: 'busy', icon: 'half', word: 'assigned' },
  dispatched: { tone: 'busy', icon: 'play', word: 'dispatched' },
  done: { tone: 'ok', icon: 'check', word: 'done' },
  failed: { tone: 'bad', icon: 'cross', word: 'failed' },
  cancelled: { tone: 'off', icon: 'slash', word: 'cancelled' },
  expired: { tone: 'warn', icon: 'clock', word: 'expired' },
  abandoned: { tone: 'warn', icon: 'back', word: 'abandoned' },
  released: { tone: 'warn', icon: 'eject', word: 'released' },
  skipped: { tone: 'off', icon: 'dash', word: 'skipped' },
};

/** Looks of what a device does, or why it takes nothing. @type {Object<string, Look>} */
export const deviceLooks = {
  idle: { tone: 'ok', icon: 'ring', word: 'idle' },
  reserved: { tone: 'busy', icon: 'play', word: 'busy' },
  cordoned: { tone: 'warn', icon: 'bars', word: 'cordoned' },
  quarantined: { tone: 'bad', icon: 'triangle', word: 'quarantined' },
  host_draining: { tone: 'warn', icon: 'bars', word: 'draining' },
  host_silent: { tone: 'bad', icon: 'off', word: 'host silent' },
  host_deaf: { tone: 'warn', icon: 'off', word: 'host not listening' },
  host_removed: { tone: 'off', icon: 'off', word: 'removed' },
  cleaning: { tone: 'idle', icon: 'brush', word: 'cleaning' },
  leased: { tone: 'idle', icon: 'half', word: 'leased' },
  unhealthy: { tone: 'bad', icon: 'triangle', word: 'unhealthy' },
  offline: { tone: 'off', icon: 'off', word: 'offline' },
  unauthorized: { tone: 'warn', icon: 'lock', word: 'unauthorized' },
  booting: { tone: 'idle', icon: 'half', word: 'booting' },
  ambiguous: { tone: 'warn', icon: 'question', word: 'ambiguous' },
  unconfirmed: { tone: 'warn', icon: 'question', word: 'unconfirmed' },
};

/** Looks of a host's state. @type {Object<string, Look>} */
export const hostLooks = {
  ready: { tone: 'ok', icon: 'check', word: 'ready' },
  silent: { tone: 'bad', icon: 'off', word: 'silent' },
  deaf: { tone: 'warn', icon: 'off', word: 'not listening' },
  draining: { tone: 'warn', icon: 'bars', word: 'draining' },
  drained: { tone: 'off', icon: 'bars', word: 'drained' },
};

const unknown = (word) => ({ tone: 'idle', icon: 'ring', word });

/** The look of a task's status. */
export function taskLook(status) {
  return own(taskLooks, status) ?? unknown(status);
}

/** The look of a host's state. */
export function hostLook(state) {
  return own(hostLooks, state) ?? unknown(state);
}

/**
 * The look of a device: of its `unavailable`, where empty is idle.
 * @param {{unavailable?: string}} device
 */
export function deviceLook(device) {
  const reason = device.unavailable || 'idle';
  const condition = reason.startsWith('condition:') ? reason.slice('condition:'.length) : reason;
  return own(deviceLooks, condition) ?? { tone: 'warn', icon: 'question', word: condition };
}

function own(table, key) {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

// Shapes, in a box of 12.
const shapes = {
  ring: [['circle', { cx: 6, cy: 6, r: 4, fill: 'none', 'stroke-width': 1.8 }]],
  half: [['circle', { cx: 6, cy: 6, r: 4, fill: 'none', 'stroke-width': 1.8 }], ['path', { d: 'M6 2a4 4 0 0 1 0 8z', fill: 'currentColor', stroke: 'none' }]],
  play: [['path', { d: 'M3.2 1.9v8.2a.6.6 0 0 0 .9.5l6.5-4.1a.6.6 0 0 0 0-1L4.1 1.4a.6.6 0 0 0-.9.5z', fill: 'currentColor', stroke: 'none' }]],
  check: [['path', { d: 'M2 6.5 4.8 9.2 10 3.2', fill: 'none', 'stroke-width': 2 }]],
  cross: [['path', { d: 'M2.8 2.8l6.4 6.4M9.2 2.8 2.8 9.2', fill: 'none', 'stroke-width': 2 }]],
  slash: [['circle', { cx: 6, cy: 6, r: 4.2, fill: 'none', 'stroke-width': 1.6 }], ['path', { d: 'M3.1 8.9l5.8-5.8', fill: 'none', 'stroke-width': 1.6 }]],
  clock: [['circle', { cx: 6, cy: 6, r: 4.4, fill: 'none', 'stroke-width': 1.6 }], ['path', { d: 'M6 3.4V6l1.8 1.4', fill: 'none', 'stroke-width': 1.6 }]],
  back: [['path', { d: 'M4.8 2.2 2 5l2.8 2.8M2.4 5h4.4a3 3 0 0 1 0 5.4H5', fill: 'none', 'stroke-width': 1.7 }]],
  eject: [['path', { d: 'M6 2 1.8 7h8.4zM2 10h8', fill: 'none', 'stroke-width': 1.6 }]],
  dash: [['path', { d: 'M2.4 6h7.2', fill: 'none', 'stroke-width': 2 }]],
  bars: [['path', { d: 'M3.8 2.2v7.6M8.2 2.2v7.6', fill: 'none', 'stroke-width': 2.2 }]],
  triangle: [['path', { d: 'M6 1.6 11 10.4H1z', fill: 'none', 'stroke-width': 1.6 }], ['path', { d: 'M6 4.8v2.4M6 8.7v.2', fill: 'none', 'stroke-width': 1.5 }]],
  off: [['path', { d: 'M6 1.4v4.2M3.4 3.2a4.2 4.2 0 1 0 5.2 0', fill: 'none', 'stroke-width': 1.7 }]],
  brush: [['path', { d: 'M10.4 6A4.4 4.4 0 1 1 8.8 2.6M10.6 1.2v2.6H8', fill: 'none', 'stroke-width': 1.6 }]],
  lock: [['path', { d: 'M2.4 5.4h7.2v5H2.4zM4 5.4V3.8a2 2 0 0 1 4 0v1.6', fill: 'none', 'stroke-width': 1.6 }]],
  question: [['path', { d: 'M3.6 4.2a2.4 2.4 0 1 1 3.5 2.1c-.7.4-1.1.8-1.1 1.6M6 10.1v.2', fill: 'none', 'stroke-width': 1.8 }]],
};

/** A shape, for where words stand beside it: it is hidden from screen readers. */
export function shape(name) {
  const parts = Object.hasOwn(shapes, name) ? shapes[name] : shapes.ring;
  return svg('svg', {
    viewBox: '0 0 12 12', 'aria-hidden': 'true', focusable: 'false', stroke: 'currentColor', 'stroke-linecap': 'round', 'stroke-linejoin': 'round',
  }, parts.map(([tag, props]) => svg(tag, props)));
}

/**
 * A badge.
 * @param {Look} look
 * @param {{plain?: boolean, word?: string}} [options] plain: without a ground; word: another one than the look's
 */
export function badge(look, { plain = false, word = look.word } = {}) {
  return h('span', { class: ['badge', plain && 'plain'], data: { tone: look.tone } }, shape(look.icon), h('span', { class: 'cut' }, word));
}

/** Gives a badge another look; nothing is touched when it has it already. */
export function setBadge(node, look, word = look.word) {
  if (node.dataset.look === `${look.icon} ${look.tone} ${word}`) return;
  node.dataset.look = `${look.icon} ${look.tone} ${word}`;
  node.dataset.tone = look.tone;
  node.replaceChildren(shape(look.icon), h('span', { class: 'cut' }, word));
}
