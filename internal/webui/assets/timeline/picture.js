// The picture: an axis of times, and a row for each device. Only rows on the screen exist, so a thousand devices scroll as
// ten do; and as now moves on, rows are shifted rather than drawn.

import { h, svg, keyed, perFrame } from '../dom.js';
import { clock } from '../format.js';
import { barSentence, drawAxis, drawRow, keepInSight, place } from './bars.js';
import { position, ticks } from './scale.js';

const overscan = 4; // rows beyond the edges
const axisHeight = 40;

export class Picture {
  /**
   * @param {{rows: import('./data.js').Rows, signal: AbortSignal, moved: () => void}} how moved: other rows are on the screen
   */
  constructor({ rows, signal, moved }) {
    this.rows = rows;
    this.moved = moved;
    this.devices = [];
    this.span = { from: 0, to: 1 };
    this.origin = 0; // the time at which rows were drawn from
    this.focus = null; // {device, key} of the bar that Tab comes to
    this.axis = svg('svg', { class: 'tl-axis', height: axisHeight, width: '100%', 'aria-hidden': 'true' });
    this.mark = h('span', { class: 'tl-mark', hidden: true, 'aria-hidden': 'true' });
    this.line = h('span', { class: 'tl-now', 'aria-hidden': 'true' }, h('span', { class: 'tl-now-time' }));
    this.body = h('div', { class: 'tl-rows' });
    this.scroller = h('div', {
      class: 'tl-scroll', tabindex: '0', role: 'group',
      'aria-label': 'Attempts by device. Arrow keys go from attempt to attempt, Shift and arrows move in time, plus and minus zoom, 0 follows now.',
    }, this.body);
    this.head = h('div', { class: 'tl-head' }, h('span', { class: 'tl-corner' }, 'Device'), h('div', { class: 'tl-axis-box' }, this.axis, this.mark));
    this.node = h('div', { class: 'tl card' }, this.head, h('div', { class: 'tl-body' }, this.scroller, this.line));
    this.draw = perFrame(() => this.drawNow());
    this.scrolled = perFrame(() => {
      this.drawNow();
      this.moved();
    });
    this.scroller.addEventListener('scroll', this.scrolled, { passive: true, signal });
    this.pixels = 0; // of the lane, and the height of a row: known until the next change of size
    this.height = 30;
    this.version = 0; // of what rows are drawn to: another one draws them all anew
    new ResizeObserver(() => {
      this.measure();
      this.scrolled();
    }).observe(this.node);
    signal.addEventListener('abort', () => (this.ended = true));
  }

  /** Where times are shown on the screen. */
  lane() {
    return this.axis.getBoundingClientRect();
  }

  // Reads what the style sheet and the window say.
  measure() {
    this.pixels = this.lane().width;
    this.height = parseFloat(getComputedStyle(this.node).getPropertyValue('--row')) || 30;
    this.version++;
  }

  setDevices(devices) {
    this.devices = devices;
    this.draw();
  }

  /** Shows another span. Rows are drawn anew when it is of another width, or too far from where they were drawn. */
  setSpan(span) {
    const width = span.to - span.from;
    const same = Math.abs(width - (this.span.to - this.span.from)) < 1 && Math.abs(span.from - this.origin) < width / 3;
    this.span = span;
    if (!same) {
      this.origin = span.from;
      this.version++;
      this.draw();
    } else {
      this.shift();
    }
  }

  /** The devices whose rows are on the screen. */
  visible() {
    const { height } = this;
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / height) - overscan);
    const last = Math.ceil((this.scroller.scrollTop + this.scroller.clientHeight) / height) + overscan;
    return this.devices.slice(first, last).map((device, i) => ({ device, index: first + i }));
  }

  scale() {
    const { pixels } = this;
    const width = this.span.to - this.span.from;
    const from = this.origin;
    return {
      x: (at) => position({ from, to: from + width }, at, pixels),
      left: from - width / 2, right: from + width * 1.5, now: this.rows.now(),
    };
  }

  drawNow() {
    if (this.ended) return;
    if (this.pixels === 0) this.measure();
    this.body.style.height = `${this.devices.length * this.height}px`;
    const scale = this.scale();
    keyed(this.body, this.visible(), (v) => v.device.id, (v) => {
      const node = makeRow(v.device);
      this.fill(node, v, scale);
      return node;
    }, (node, v) => this.fill(node, v, scale));
    this.shift();
    this.keepFocus();
  }

  fill(node, { device, index }, scale) {
    const top = `translateY(${index * this.height}px)`;
    if (node.style.transform !== top) node.style.transform = top;
    node.device = device;
    const row = this.rows.of(device.id);
    if (node.row === row && node.version === this.version) return;
    node.row = row;
    node.version = this.version;
    node.classList.toggle('loading', !row);
    drawRow(node.layer, row, scale);
  }

  /** Moves what is drawn to where now is, and lets what goes on grow. */
  shift() {
    if (this.pixels === 0) this.measure();
    const { pixels } = this;
    const width = this.span.to - this.span.from;
    const now = this.rows.now();
    const shift = ((this.origin - this.span.from) / width) * pixels;
    this.node.style.setProperty('--shift', `${shift.toFixed(1)}px`);
    const scale = this.scale();
    for (const row of this.body.children) {
      for (const node of row.layer.children) {
        const item = node.item;
        if (!item || item.absent) continue;
        if (!(item.bar ?? item.stretch).end) {
          item.end = now;
          place(node, item, scale);
        }
        keepInSight(node, item, scale, shift);
      }
    }
    this.placeAxis(pixels);
    const at = position(this.span, now, pixels);
    this.line.hidden = at < 0 || at > pixels;
    this.line.style.transform = `translateX(${at.toFixed(1)}px)`;
    this.line.firstChild.textContent = clock(now);
  }

  placeAxis(pixels) {
    const drawn = `${Math.round(this.span.from)} ${Math.round(this.span.to)} ${pixels}`;
    if (this.axis.drawn === drawn) return;
    this.axis.drawn = drawn;
    drawAxis(this.axis, ticks(this.span, Math.max(2, Math.floor(pixels / 84))), { x: (at) => position(this.span, at, pixels) }, axisHeight);
  }

  /** Marks a part of the axis, given in shares of its width; null: none. */
  setMark(from, to) {
    this.mark.hidden = from === null;
    if (from === null) return;
    this.mark.style.left = `${from * 100}%`;
    this.mark.style.width = `${(to - from) * 100}%`;
  }

  // One bar can be reached with Tab: the one that had the focus last, or the first on the screen.
  keepFocus() {
    const current = this.body.querySelector('.tl-bar[tabindex="0"]');
    if (current) return;
    const bar = this.onScreen()[0];
    if (bar) bar.tabIndex = 0;
  }

  onScreen() {
    return [...this.body.querySelectorAll('.tl-bar')].filter((b) => this.inside(b));
  }

  inside(bar) {
    const item = bar.item;
    return item.end >= this.span.from && item.begin <= this.span.to;
  }

  /** Makes a bar the one that Tab comes to, and says of it what there is to say. */
  reach(bar) {
    for (const other of this.body.querySelectorAll('.tl-bar[tabindex="0"]')) other.tabIndex = -1;
    bar.tabIndex = 0;
    const device = bar.closest('.tl-row').device;
    bar.setAttribute('aria-label', barSentence(bar.item.bar, device.name, this.rows.now()));
  }

  /** Goes from the focused bar to the next one in its row, or to the nearest in the row above or below. */
  step(dx, dy) {
    const from = this.body.contains(document.activeElement) ? document.activeElement.closest('.tl-bar') : null;
    if (!from) {
      (this.body.querySelector('.tl-bar[tabindex="0"]') ?? this.onScreen()[0])?.focus();
      return null;
    }
    const rowNode = from.closest('.tl-row');
    if (dx !== 0) {
      const bars = barsOf(rowNode);
      const to = bars[bars.indexOf(from) + dx];
      if (to) to.focus({ preventScroll: true });
      return to?.item ?? null;
    }
    const rows = [...this.body.children].sort((a, b) => this.devices.indexOf(a.device) - this.devices.indexOf(b.device));
    const at = from.item.begin;
    for (let i = rows.indexOf(rowNode) + dy; i >= 0 && i < rows.length; i += dy) {
      const bars = barsOf(rows[i]).filter((b) => this.inside(b));
      if (bars.length === 0) continue;
      const to = bars.reduce((a, b) => (Math.abs(b.item.begin - at) < Math.abs(a.item.begin - at) ? b : a));
      this.showRow(this.devices.indexOf(rows[i].device));
      to.focus({ preventScroll: true });
      return to.item;
    }
    return null;
  }

  /** Scrolls so that a row is on the screen. */
  showRow(index) {
    const { height } = this;
    const s = this.scroller;
    if (index * height < s.scrollTop) s.scrollTop = index * height;
    else if ((index + 1) * height > s.scrollTop + s.clientHeight) s.scrollTop = (index + 1) * height - s.clientHeight;
  }

  /** Whether any bar on the screen stands for several attempts. */
  folded() {
    return this.onScreen().some((b) => b.item.bar.count > 1);
  }
}

function makeRow(device) {
  const layer = h('div', { class: 'tl-layer' });
  const node = h('div', { class: 'tl-row', role: 'group', 'aria-label': device.name },
    h('a', { class: 'tl-name', href: `/devices/${encodeURIComponent(device.id)}`, title: `${device.name} on ${device.host}` },
      h('span', { class: 'cut' }, device.name), h('span', { class: 'cut tl-host' }, device.host)),
    h('div', { class: 'tl-lane' }, layer));
  node.layer = layer;
  return node;
}

function barsOf(row) {
  return [...row.querySelectorAll('.tl-bar')].sort((a, b) => a.item.begin - b.item.begin);
}
