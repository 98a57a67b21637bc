// A log on the screen: only the lines in view exist, so a log of any length scrolls; it follows its end until somebody
// scrolls up; what is searched is marked.

import { h, perFrame, visible } from '../dom.js';
import { bytes, count } from '../format.js';
import { icon } from '../icons.js';
import { coloursOf } from './colours.js';
import { Lines, pieces, textOf } from './lines.js';
import { followLog } from './stream.js';

const lineHeight = 19;
const overscan = 12;

export class LogView {
  /**
   * @param {{task: string, signal: AbortSignal, name: string, label: string, attempt: number, deviceOf: (attempt: number) => string, several: () => boolean, search?: string,
   *   searched?: (text: string) => void, changed?: () => void}} how
   */
  constructor(how) {
    Object.assign(this, how);
    this.wanted = how.search ?? '';
    this.lines = new Lines();
    this.size = 0;
    this.following = true;
    this.hits = [];
    this.hit = -1;
    this.build();
    this.draw = perFrame(() => this.drawNow());
    this.findAgain = perFrame(() => this.find(false));
    this.watch = new ResizeObserver(this.draw);
    this.watch.observe(this.scroller);
    this.signal.addEventListener('abort', () => this.watch.disconnect());
  }

  build() {
    const button = (label, glyph, click) => h('button', { class: 'button ghost icon', type: 'button', 'aria-label': label, title: label, on: { click } }, glyph);
    this.searchBox = h('input', {
      class: 'input', type: 'search', placeholder: 'Search the log', 'aria-label': 'Search the log', value: this.wanted, on: {
        input: () => {
          this.wanted = this.searchBox.value;
          this.searched?.(this.wanted);
          this.find(true);
        },
        keydown: (e) => {
          if (e.key !== 'Enter') return;
          e.preventDefault();
          this.next(e.shiftKey ? -1 : 1);
        },
      },
    });
    this.turns = h('span', { class: 'row', hidden: true }, button('Previous match', '↑', () => this.next(-1)), button('Next match', '↓', () => this.next(1)));
    this.hitCount = h('span', { class: 'small muted nowrap', role: 'status' });
    this.followButton = h('button', { class: 'button small', type: 'button', on: { click: () => this.setFollowing(!this.following) } }, 'Follow');
    this.state = h('span', { class: 'small muted nowrap log-state', role: 'status' });
    this.spacer = h('div', { class: 'log-lines' });
    this.scroller = h('div', { class: 'log-scroll', tabindex: '0', role: 'region', 'aria-label': this.label, on: { scroll: () => this.onScroll() } }, this.spacer);
    this.nothing = h('p', { class: 'log-empty', hidden: true });
    this.node = h('div', { class: 'log' },
      h('div', { class: 'log-bar' }, h('span', { class: 'log-search' }, icon('search'), this.searchBox), this.hitCount,
        this.turns,
        h('span', { class: 'grow' }), this.state, this.followButton,
        h('a', { class: 'button small', download: '', href: this.href(), title: 'The log as it was written' }, 'Raw')),
      h('div', { class: 'log-box' }, this.scroller, this.nothing));
  }

  href() {
    const q = new URLSearchParams({ name: this.name });
    if (this.attempt) q.set('attempt', this.attempt);
    return `/v1/tasks/${encodeURIComponent(this.task)}/log?${q}`;
  }

  /** Begins to read, and resolves at the log's end. */
  start() {
    return followLog({
      task: this.task, attempt: this.attempt, name: this.name, signal: this.signal,
      take: (kind, message) => this.take(kind, message), state: (state, err) => this.tell(state, err),
    });
  }

  take(kind, m) {
    if (kind === 'attempt') {
      if (this.lines.attempt !== m.attempt) {
        this.lines.begin(m.attempt);
        if (!this.attempt && (m.attempt > 1 || this.several())) this.lines.mark(`Attempt ${m.attempt}`, true);
      }
    } else if (kind === 'log') {
      this.size += m.bytes.length;
      this.lines.push(m.bytes, m.offset);
    } else if (kind === 'gap') {
      this.lines.mark(`${bytes(m.bytes)} were left out here: the log is very long`);
      this.lines.gap(m.bytes, m.offset);
    } else if (kind === 'closed' && !m.complete) {
      this.lines.mark(`The log of attempt ${m.attempt} may end too early: ${m.reason}`);
    }
    this.draw();
    if (this.wanted) this.findAgain();
    this.changed?.();
  }

  tell(state, err) {
    const words = { connecting: 'Reading…', connected: 'Live', lost: 'Not connected, trying again…', ended: '', refused: '' };
    this.state.textContent = words[state];
    this.state.dataset.state = state;
    this.over = state === 'ended' || state === 'refused';
    this.refusal = state === 'refused' ? err.message : '';
    this.followButton.hidden = this.over;
    this.draw();
  }

  setFollowing(on) {
    this.following = on;
    this.draw();
  }

  onScroll() {
    const s = this.scroller;
    // Only a hand scrolls away from the end: what is added moves the end away itself.
    if (Math.abs(s.scrollTop - (this.placed ?? 0)) > 1) this.following = s.scrollTop + s.clientHeight >= s.scrollHeight - lineHeight;
    this.draw();
  }

  drawNow() {
    if (this.signal.aborted) return;
    const { list, dropped } = this.lines;
    const s = this.scroller;
    this.spacer.style.height = `${list.length * lineHeight + 12}px`;
    if (this.following && !this.over) s.scrollTop = s.scrollHeight;
    this.placed = s.scrollTop;
    this.followButton.setAttribute('aria-pressed', String(this.following));
    const first = Math.max(0, Math.floor(s.scrollTop / lineHeight) - overscan);
    const last = Math.min(list.length, Math.ceil((s.scrollTop + s.clientHeight) / lineHeight) + overscan);
    const nodes = [];
    const digits = String(list.length + dropped).length;
    for (let i = first; i < last; i++) nodes.push(this.lineNode(list[i], i, digits));
    this.spacer.replaceChildren(...nodes);
    this.nothing.hidden = list.length > 0;
    if (list.length === 0) this.nothing.textContent = this.refusal || (this.over ? 'Nothing was written.' : 'Nothing has been written yet.');
    if (dropped > 0 && !this.wanted) this.hitCount.textContent = `The first ${count(dropped)} lines are left out: see Raw.`;
  }

  lineNode(line, i, digits) {
    const style = { top: `${i * lineHeight + 6}px` };
    if (line.mark !== undefined) return h('div', { class: 'log-line mark', style }, h('span', { class: 'log-text' }, line.mark, line.begins && this.deviceOf(line.attempt)));
    const text = h('span', { class: 'log-text' });
    for (const p of pieces(line.runs, this.wanted)) text.append(this.pieceNode(p));
    return h('div', { class: ['log-line', i === this.hits[this.hit] && 'current'], style },
      h('span', { class: 'log-number', style: { width: `${digits}ch` }, 'aria-hidden': 'true' }, line.number), text);
  }

  pieceNode({ run, text, found }) {
    const styled = run.fg || run.bg || run.bold || run.dim || run.italic || run.underline || run.strike;
    if (!styled && !found) return document.createTextNode(visible(text));
    const classes = [run.bold && 'b', run.dim && 'd', run.italic && 'i', run.underline && 'u', run.strike && 's'];
    const { style, names } = coloursOf(run);
    return h(found ? 'mark' : 'span', { class: [...classes, ...names], style }, text);
  }

  // Finds the lines that hold what is searched; afresh: another text, so the first hit from the screen on is shown.
  find(afresh) {
    this.hits = this.lines.search(this.wanted);
    this.turns.hidden = this.wanted === '';
    if (afresh) {
      const top = Math.floor(this.scroller.scrollTop / lineHeight);
      const from = this.hits.findIndex((i) => i >= top);
      this.hit = this.hits.length === 0 ? -1 : Math.max(0, from);
      if (this.hit >= 0) this.show(this.hits[this.hit]);
    }
    if (this.hit >= this.hits.length) this.hit = this.hits.length - 1;
    this.hitCount.textContent = this.wanted === '' ? '' : this.hits.length === 0 ? 'no match' : `${this.hit + 1} of ${count(this.hits.length)} lines`;
    this.draw();
  }

  /** Goes to the next line that holds what is searched, or the one before. */
  next(by) {
    if (this.hits.length === 0) return;
    this.hit = (this.hit + by + this.hits.length) % this.hits.length;
    this.show(this.hits[this.hit]);
    this.hitCount.textContent = `${this.hit + 1} of ${count(this.hits.length)} lines`;
  }

  /** Brings a line into view. */
  show(i) {
    this.following = false;
    this.scroller.scrollTop = Math.max(0, i * lineHeight - this.scroller.clientHeight / 3);
    this.placed = this.scroller.scrollTop;
    this.draw();
  }

  /** Brings what an attempt wrote from an offset on into view; says whether it is there. */
  showOffset(attempt, offset) {
    const i = this.lines.at(attempt, offset);
    if (i >= 0) this.show(i);
    return i >= 0;
  }

  /** The text of all lines that are kept, for tests and for copying. */
  get text() {
    return this.lines.list.map(textOf).join('\n');
  }
}
