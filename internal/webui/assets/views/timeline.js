// Timeline: what every device did, and when it was out, from minutes to days.

import { h, paced } from '../dom.js';
import { duration, plural } from '../format.js';
import { taskLooks, deviceLooks, shape } from '../status.js';
import { everyDevice } from '../timeline/devices.js';
import { Rows } from '../timeline/data.js';
import { Picture } from '../timeline/picture.js';
import { Table } from '../timeline/table.js';
import { Tip } from '../timeline/tip.js';
import { handle, key } from '../timeline/pointer.js';
import { following, pan, queryOf, spanOf, widthName, widths, zoom } from '../timeline/scale.js';

export default {
  title: () => 'Timeline',
  mount: (root, context) => new Timeline(root, context).start(),
};

class Timeline {
  constructor(root, { query, signal, live, api, setQuery }) {
    Object.assign(this, { root, signal, live, api, setQuery });
    this.filter = query.q ?? '';
    this.asTable = query.view === 'table';
    this.all = [];
    this.rows = new Rows({ api, signal, loaded: () => this.draw(), failed: (err) => this.tellFailure(err) });
    this.span = spanOf(query, this.rows.now());
    this.read = paced(() => this.rows.read(this.shown().visible().map((v) => v.device.id), this.span), 120, signal);
    this.readDevices = paced(() => this.loadDevices(), 2000, signal);
    this.picture = new Picture({ rows: this.rows, signal, moved: () => this.read() });
    this.table = new Table({ rows: this.rows, moved: () => this.change() });
    this.tip = new Tip({ box: this.picture.scroller, now: () => this.rows.now(), signal });
  }

  start() {
    this.failure = h('p', { class: 'notice', data: { tone: 'bad' }, role: 'alert', hidden: true });
    this.note = h('p', { class: 'small muted tl-note', role: 'status' });
    this.title = h('span', { class: 'muted small', 'aria-live': 'polite' });
    this.content = h('div', { class: 'tl-content' });
    this.root.append(h('div', { class: 'page timeline' },
      h('div', { class: 'page-head' }, h('h1', null, 'Timeline'), this.title),
      this.toolbar(), this.failure, this.content, h('div', { class: 'tl-foot' }, legend(), this.note)));
    this.place();
    this.hands();
    this.follow();
    this.readDevices();
    return () => clearTimeout(this.timer);
  }

  shown() {
    return this.asTable ? this.table : this.picture;
  }

  toolbar() {
    const button = (label, content, click) => h('button', { class: 'button icon', type: 'button', 'aria-label': label, title: label, on: { click } }, content);
    this.choices = Object.entries(widths).map(([, width]) => h('button', {
      class: 'button', type: 'button', on: { click: () => this.change(this.span.follow ? following(width, this.rows.now()) : zoom(this.span, width / (this.span.to - this.span.from), 0.5, this.rows.now())) },
    }, widthName(width)));
    this.nowButton = h('button', { class: 'button', type: 'button', title: 'Follow now (0)', on: { click: () => this.change(following(this.span.to - this.span.from, this.rows.now())) } }, 'Now');
    this.search = h('input', {
      class: 'input search', type: 'search', placeholder: 'Filter devices', 'aria-label': 'Filter devices by name, host or tag', value: this.filter,
      on: { input: () => this.filterBy(this.search.value) },
    });
    this.views = [['Picture', false], ['Table', true]].map(([word, table]) => h('button', {
      class: 'button', type: 'button', on: { click: () => this.showAs(table) },
    }, word));
    return h('div', { class: 'toolbar tl-toolbar' },
      h('div', { class: 'segments', role: 'group', 'aria-label': 'Width of the span' }, this.choices),
      h('div', { class: 'row' },
        button('Earlier', '‹', () => this.pan(-0.5)), button('Zoom out', '−', () => this.zoom(1.6)),
        button('Zoom in', '+', () => this.zoom(1 / 1.6)), button('Later', '›', () => this.pan(0.5)), this.nowButton),
      this.search, h('div', { class: 'segments', role: 'group', 'aria-label': 'Shown as' }, this.views));
  }

  hands() {
    const now = () => this.rows.now();
    handle({
      box: this.picture.node, axis: this.picture.head, lane: () => this.picture.lane(), signal: this.signal,
      zoom: (factor, anchor) => this.zoom(factor, anchor), pan: (share) => this.pan(share),
      between: (from, to) => {
        const share = to - from;
        this.change(zoom({ ...this.span, follow: false }, share, share < 1 ? from / (1 - share) : 0, now()));
      },
      marking: (from, to) => this.picture.setMark(from, to),
    });
    this.picture.node.addEventListener('keydown', (e) => {
      const does = {
        zoom: (factor) => this.zoom(factor), pan: (share) => this.pan(share), follow: () => this.nowButton.click(),
        step: (dx, dy) => this.reveal(this.picture.step(dx, dy)),
        edge: (end) => this.picture.scroller.scrollTo({ top: end ? this.picture.scroller.scrollHeight : 0 }),
      };
      if (key(e, does)) e.preventDefault();
    }, { signal: this.signal });
    this.picture.scroller.addEventListener('focusin', (e) => e.target.matches('.tl-bar') && this.picture.reach(e.target), { signal: this.signal });
  }

  zoom(factor, anchor = 0.5) {
    this.change(zoom(this.span, factor, anchor, this.rows.now()));
  }

  pan(share) {
    this.change(pan(this.span, share * (this.span.to - this.span.from), this.rows.now()));
  }

  // A bar that has the focus is brought into the span.
  reveal(item) {
    if (!item) return;
    const width = this.span.to - this.span.from;
    const middle = (Math.max(item.begin, item.end - width) + Math.min(item.end, item.begin + width)) / 2;
    if (item.begin > this.span.to - width * 0.05 || item.end < this.span.from + width * 0.05) {
      this.change(pan(this.span, middle - (this.span.from + this.span.to) / 2, this.rows.now()));
    }
  }

  // Shows another span, or what has been read of this one.
  change(span = this.span) {
    this.span = span;
    clearTimeout(this.writing);
    this.writing = setTimeout(() => this.signal.aborted || this.setQuery(queryOf(this.span)), 250);
    this.place();
    this.read();
  }

  place() {
    const width = this.span.to - this.span.from;
    for (const [i, w] of Object.values(widths).entries()) this.choices[i].setAttribute('aria-pressed', String(Math.abs(w - width) < 1));
    this.nowButton.setAttribute('aria-pressed', String(this.span.follow));
    for (const [i, b] of this.views.entries()) b.setAttribute('aria-pressed', String(this.asTable === (i === 1)));
    if (this.content.firstChild !== this.shown().node) this.content.replaceChildren(this.shown().node);
    this.picture.setSpan(this.span);
    if (this.asTable) this.table.draw(this.span);
    const devices = this.shown().devices.length;
    this.title.textContent = this.all.length === 0 ? '' : devices === this.all.length ? plural(devices, 'device') : `${devices} of ${plural(this.all.length, 'device')}`;
  }

  draw() {
    this.picture.draw();
    if (this.asTable) this.table.draw(this.span);
    requestAnimationFrame(() => {
      if (this.signal.aborted) return;
      const apart = duration((2 * (this.span.to - this.span.from)) / 600);
      this.note.textContent = !this.asTable && this.picture.folded() ? `Attempts that begin within ${apart} and end alike are drawn as one, with their number: zoom in to tell them apart.` : '';
    });
  }

  showAs(table) {
    this.asTable = table;
    this.setQuery({ view: table ? 'table' : '' });
    this.place();
    this.read();
  }

  filterBy(text) {
    this.filter = text.trim();
    this.setQuery({ q: this.filter });
    const words = this.filter.toLowerCase().split(/\s+/).filter(Boolean);
    const some = this.all.filter((d) => words.every((w) => d.text.includes(w)));
    this.picture.setDevices(some);
    this.table.setDevices(some);
    this.place();
    this.read();
  }

  async loadDevices() {
    try {
      const [devices, { hosts }] = await Promise.all([everyDevice(this.api, this.signal), this.api.get('/v1/hosts', { signal: this.signal })]);
      const names = new Map(hosts.map((x) => [x.id, x.name]));
      const order = new Intl.Collator(undefined, { numeric: true });
      this.all = devices.map((d) => {
        const host = names.get(d.host_id) ?? '';
        return { id: d.id, name: d.name, hostID: d.host_id, host, text: [d.name, host, d.driver_type, ...d.tags].join(' ').toLowerCase() };
      }).sort((a, b) => order.compare(a.host, b.host) || order.compare(a.name, b.name));
      this.filterBy(this.search.value);
      this.tellFailure(null);
      this.content.classList.toggle('bare', this.all.length === 0);
      if (this.all.length === 0) this.note.textContent = 'The pool has no devices yet: start phonebooth agent on a machine that has some.';
    } catch (err) {
      if (!this.signal.aborted) this.tellFailure(err);
    }
  }

  // Follows the clock and the record.
  follow() {
    const tick = () => {
      if (this.signal.aborted) return;
      if (!document.hidden) {
        if (this.span.follow) this.span = following(this.span.to - this.span.from, this.rows.now());
        if (this.asTable) this.tableTurn = ((this.tableTurn ?? 0) + 1) % 5;
        if (!this.asTable) this.picture.setSpan(this.span);
        else if (this.tableTurn === 0 && !this.table.node.contains(document.activeElement)) this.table.draw(this.span);
        this.read();
      }
      const pixel = (this.span.to - this.span.from) / Math.max(200, this.picture.lane().width);
      this.timer = setTimeout(tick, Math.min(1000, Math.max(150, pixel)));
    };
    tick();
    const off = this.live.on((e) => {
      if (e.kind === 'device.registered' || e.kind === 'host.removed' || e.kind === 'host.enrolled' || e.kind === 'reset') this.readDevices();
      if (e.kind === 'reset') this.rows.age();
      else if (e.device_id) this.rows.age([e.device_id]);
      else if (e.host_id) this.rows.age(this.all.filter((d) => d.hostID === e.host_id).map((d) => d.id));
    });
    this.signal.addEventListener('abort', off);
  }

  tellFailure(err) {
    this.failure.hidden = !err;
    this.failure.textContent = err ? err.message : '';
  }
}

function legend() {
  const bar = (ending, look) => h('li', null, h('span', { class: 'tl-bar key', data: { tone: look.tone, ending, size: 'small' } }, shape(look.icon)), look.word);
  const stretch = (state, look, word = look.word) => h('li', null, h('span', { class: 'tl-stretch key', data: { tone: look.tone, state, track: 'condition', size: 'tiny' } }), word);
  return h('ul', { class: 'tl-legend', 'aria-label': 'What the colours and patterns mean' },
    bar('live', { tone: 'busy', icon: 'play', word: 'running' }),
    ['done', 'failed', 'cancelled', 'expired', 'abandoned'].map((e) => bar(e, taskLooks[e])),
    stretch('cleaning', deviceLooks.cleaning), stretch('offline', deviceLooks.offline), stretch('unhealthy', deviceLooks.unhealthy),
    stretch('quarantined', deviceLooks.quarantined), stretch('cordoned', deviceLooks.cordoned), stretch('unconfirmed', deviceLooks.unconfirmed));
}
