// What a submission would meet now, as the server says it: whether it would start, on what, or what it would wait for.

import { h, replace } from '../dom.js';
import { plural } from '../format.js';
import { shape } from '../status.js';

const looks = {
  start: { tone: 'ok', icon: 'play', title: 'Would start at once' },
  wait: { tone: 'busy', icon: 'clock', title: 'Would wait' },
  never: { tone: 'bad', icon: 'cross', title: 'No device can take it' },
  refused: { tone: 'bad', icon: 'cross', title: 'Would be refused' },
  fault: { tone: 'warn', icon: 'question', title: 'Not complete' },
  empty: { tone: 'idle', icon: 'ring', title: 'What would happen' },
};

export class Forecast {
  constructor() {
    this.body = h('div', { class: 'body forecast', role: 'status', 'aria-live': 'polite' });
    this.node = h('section', { class: 'card forecast-card', 'aria-label': 'What would happen' }, this.body);
    this.say('empty', 'Write a goal or choose a workflow, and this says which device would take it, or what it would wait for.');
  }

  /** Says that an answer is on its way. */
  busy(on) {
    this.node.classList.toggle('asking', on);
  }

  say(look, first, rest = []) {
    const l = looks[look];
    replace(this.body, h('h2', { class: 'forecast-title', data: { tone: l.tone } }, shape(l.icon), l.title),
      h('p', { class: 'verbatim' }, first), rest.length > 0 && h('ul', { class: 'why-rest' }, rest.map((s) => h('li', { class: 'verbatim' }, s))));
  }

  /** @param {any} e an Explanation */
  show(e) {
    const w = e.wait ?? {};
    const look = e.refusal ? 'refused' : w.next ? 'start' : w.known_devices > 0 && w.candidates === 0 ? 'never' : 'wait';
    const [first, ...rest] = e.sentences;
    this.say(look, first, rest);
    if (!e.refusal && w.clauses?.length > 0 && w.known_devices > 0) this.body.append(funnel(w));
  }

  fault(text) {
    this.say('fault', text);
  }
}

// How many devices each clause leaves, as bars that narrow.
function funnel(w) {
  const line = (name, left, lost) => h('li', null,
    h('span', { class: 'cut' }, name), h('span', { class: 'bar', data: { tone: left === 0 ? 'bad' : 'busy' } }, h('span', { style: { width: `${(left / w.known_devices) * 100}%` } })),
    h('span', { class: 'num' }, left, lost > 0 && h('span', { class: 'muted' }, ` −${lost}`)));
  return h('ul', { class: 'funnel small', 'aria-label': `Of ${plural(w.known_devices, 'device')}` }, line('all devices', w.known_devices, 0),
    w.clauses.map((c) => line(`${c.clause.replace('_', ' ')} ${c.value}`, c.left, c.lost)));
}
