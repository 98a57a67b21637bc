// The timeline as a table: the same attempts and stretches in words, for whoever reads better than looks.

import { h, replace } from '../dom.js';
import { clock, duration, millis, plural, short } from '../format.js';
import { badge } from '../status.js';
import { barHref, barLabel, barLook, stretchLook } from './bars.js';

const most = 400; // lines
const page = 25; // devices

export class Table {
  /** @param {{rows: import('./data.js').Rows, moved: () => void}} how moved: other devices are wanted */
  constructor({ rows, moved }) {
    this.rows = rows;
    this.moved = moved;
    this.first = 0;
    this.devices = [];
    this.node = h('section', { class: 'card', 'aria-label': 'Timeline as a table' });
  }

  setDevices(devices) {
    this.devices = devices;
    if (this.first >= devices.length) this.first = 0;
  }

  /** The devices whose rows are shown. */
  visible() {
    return this.devices.slice(this.first, this.first + page).map((device) => ({ device }));
  }

  draw(span) {
    const now = this.rows.now();
    const lines = [];
    for (const { device } of this.visible()) {
      const row = this.rows.of(device.id);
      const within = (t) => millis(t.begin) < span.to && (t.end ? millis(t.end) : now) >= span.from;
      for (const bar of row?.bars.filter(within) ?? []) lines.push({ device, bar, begin: millis(bar.begin), end: bar.end });
      for (const stretch of row?.stretches.filter(within) ?? []) lines.push({ device, stretch, begin: millis(stretch.begin), end: stretch.end });
    }
    lines.sort((a, b) => b.begin - a.begin);
    const last = Math.min(this.first + page, this.devices.length);
    replace(this.node,
      h('header', null,
        h('h2', null, this.devices.length ? `${this.first + 1}–${last} of ${plural(this.devices.length, 'device')}` : 'No devices'),
        lines.length > most && h('span', { class: 'muted small' }, `The newest ${most} of ${lines.length} lines: zoom in for the others.`),
        this.turn('Previous', -page, this.first > 0), this.turn('Next', page, last < this.devices.length)),
      h('div', { class: 'table-scroll', tabindex: '0', role: 'region', 'aria-label': 'Attempts and stretches' }, h('table', { class: 'table' },
        h('thead', null, h('tr', null, ['Begin', 'Device', 'What', 'State', 'For'].map((t) => h('th', { scope: 'col', class: t === 'For' ? 'num' : '' }, t)))),
        h('tbody', null, lines.slice(0, most).map((l) => lineOf(l, now))))),
      lines.length === 0 && h('p', { class: 'empty' }, 'Nothing happened on these devices in this time.'));
  }

  turn(word, by, can) {
    return h('button', {
      class: 'button small', type: 'button', disabled: !can, on: {
        click: () => {
          this.first = Math.max(0, this.first + by);
          this.moved();
        },
      },
    }, word);
  }
}

function lineOf({ device, bar, stretch, begin, end }, now) {
  return h('tr', null,
    h('td', { class: 'nowrap' }, clock(begin)),
    h('td', { class: 'nowrap' }, device.name),
    h('td', { class: 'main cut' }, bar ? h('a', { href: barHref(bar) }, barLabel(bar) || short(bar.task_id)) : stretch.reason ?? ''),
    h('td', null, badge(bar ? barLook(bar) : stretchLook(stretch))),
    h('td', { class: 'nowrap num' }, duration((end ? millis(end) : now) - begin)));
}
