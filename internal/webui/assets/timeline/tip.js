// Tells what is under the pointer, or has the focus.

import { h, replace } from '../dom.js';
import { clock, duration, millis, short } from '../format.js';
import { badge } from '../status.js';
import { barLabel, barLook, stretchLook } from './bars.js';

export class Tip {
  /** @param {{box: HTMLElement, now: () => number, signal: AbortSignal}} how box: what holds the bars */
  constructor({ box, now, signal }) {
    this.now = now;
    this.node = h('div', { class: 'tl-tip', role: 'tooltip', hidden: true });
    document.body.append(this.node);
    signal.addEventListener('abort', () => this.node.remove());
    const over = (e) => {
      const target = e.target instanceof Element ? e.target.closest('.tl-bar, .tl-stretch') : null;
      if (target) this.show(target, e.clientX);
      else this.hide();
    };
    box.addEventListener('pointermove', over, { signal });
    box.addEventListener('pointerleave', () => this.hide(), { signal });
    box.addEventListener('focusin', (e) => e.target.matches('.tl-bar:focus-visible') && this.show(e.target), { signal });
    box.addEventListener('focusout', () => this.hide(), { signal });
    box.addEventListener('scroll', () => this.hide(), { signal, passive: true });
    box.addEventListener('keydown', (e) => e.key === 'Escape' && this.hide(), { signal });
  }

  hide() {
    this.node.hidden = true;
    this.shown = null;
  }

  show(target, x) {
    const row = target.closest('.tl-row');
    if (!target.item || !row) return;
    if (this.shown !== target) {
      this.shown = target;
      replace(this.node, target.item.bar ? this.ofBar(target.item.bar, row.device) : this.ofStretch(target.item.stretch, row.device));
    }
    this.node.hidden = false;
    const box = target.getBoundingClientRect();
    const width = this.node.offsetWidth;
    const left = Math.min(innerWidth - width - 8, Math.max(8, (x ?? Math.max(box.left, 200)) - width / 2));
    const below = box.bottom + 8;
    const top = below + this.node.offsetHeight < innerHeight ? below : box.top - this.node.offsetHeight - 8;
    this.node.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  ofBar(bar, device) {
    const begin = millis(bar.begin);
    const took = duration((bar.end ? millis(bar.end) : this.now()) - begin);
    const waited = bar.started_at ? millis(bar.started_at) - begin : 0;
    return [
      h('div', { class: 'row spread' }, badge(barLook(bar)), h('span', { class: 'small muted mono' }, bar.count > 1 ? '' : short(bar.task_id))),
      h('p', { class: 'tl-tip-goal verbatim' }, barLabel(bar)),
      facts([
        ['Device', device.name],
        ['Time', `${clock(begin)} – ${bar.end ? clock(bar.end) : 'now'}`],
        [bar.count > 1 ? 'From first to last' : bar.end ? 'Took' : 'For', took],
        bar.count === 1 && waited > 1000 && ['Until it began', duration(waited)],
        bar.count === 1 && bar.attempt > 1 && ['Attempt', bar.attempt],
        bar.code && bar.code !== bar.ending && ['Code', bar.code],
      ]),
      bar.count > 1 && h('p', { class: 'small muted' }, 'Too close to be told apart here: zoom in.'),
    ];
  }

  ofStretch(stretch, device) {
    const begin = millis(stretch.begin);
    return [
      h('div', { class: 'row spread' }, badge(stretchLook(stretch))),
      stretch.reason && h('p', { class: 'tl-tip-goal verbatim' }, stretch.reason),
      facts([
        ['Device', device.name],
        ['Time', `${clock(begin)} – ${stretch.end ? clock(stretch.end) : 'now'}`],
        [stretch.end ? 'Took' : 'For', duration((stretch.end ? millis(stretch.end) : this.now()) - begin)],
        stretch.count > 1 && ['Changes', stretch.count],
      ]),
    ];
  }
}

function facts(list) {
  return h('dl', { class: 'facts small' }, list.filter(Boolean).map(([name, value]) => [h('dt', null, name), h('dd', null, value)]));
}
