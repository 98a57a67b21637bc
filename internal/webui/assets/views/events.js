// The record: what happened, newest first.

import { withQuery } from '../api.js';
import { h } from '../dom.js';
import { short, time } from '../format.js';
import { showList } from '../list.js';
import { deviceLink, hostChoices, hostLink } from '../names.js';
import { address } from '../router.js';
import { shape } from '../status.js';

export default {
  title: () => 'Events',
  mount(root, context) {
    return showList(root, {
      context,
      title: 'Events',
      pageSize: 100,
      filters: [
        { name: 'kind', label: 'About', kind: 'chips', many: true, options: [['task.*', 'Tasks'], ['device.*', 'Devices'], ['host.*', 'Hosts'], ['workflow.*', 'Workflows']] },
        { name: 'label', label: 'Label', kind: 'search', hint: 'Label of the task, as team=checkout' },
        { name: 'host_id', label: 'Host', kind: 'select', load: hostChoices },
        { name: 'task_id', label: 'Task', kind: 'hidden' },
        { name: 'device_id', label: 'Device', kind: 'hidden' },
      ],
      columns: [
        { name: 'When', class: 'nowrap' }, { name: 'What happened', class: 'main' }, { name: 'Task', class: 'wide' }, { name: 'Device', class: 'wide' },
        { name: 'Host', class: 'wider' }, { name: 'By', class: 'wider' }, { name: '#', class: 'num wider' },
      ],
      key: (e) => String(e.pos),
      cells,
      concerns: () => true,
      async read(values, before, limit) {
        const { label, ...rest } = values;
        const got = await context.api.get(withQuery('/v1/events', { ...rest, label: label.split(/[\s,]+/), order: 'newest', before, limit }), { signal: context.signal });
        return { items: got.events, next: got.more ? String(got.next) : undefined };
      },
      empty: (filtered) => h('p', null, filtered ? 'No event is like that.' : 'Nothing has happened yet.'),
    }).end;
  },
};

function cells(e) {
  const [look, sentence] = told(e);
  return [
    time(e.at, 'clock'),
    h('div', { class: 'list-main' }, h('span', { class: 'event-kind' }, h('span', { class: 'event-shape', data: { tone: look[0] } }, shape(look[1])), h('code', { class: 'cut' }, e.kind)),
      sentence && h('span', { class: 'list-sub cut muted' }, sentence)),
    e.task_id ? h('a', { class: 'mono', href: address('tasks', e.task_id), title: e.task_id }, `${short(e.task_id)}${e.attempt > 1 ? ` · ${e.attempt}` : ''}`) : null,
    deviceLink(e.device_id),
    hostLink(e.host_id),
    h('span', { class: 'muted cut' }, e.actor),
    h('span', { class: 'muted' }, String(e.pos)),
  ];
}

const looks = {
  'task.submitted': ['idle', 'ring'], 'task.assigned': ['busy', 'half'], 'task.dispatched': ['busy', 'play'], 'task.requeued': ['warn', 'back'],
  'task.cancel_requested': ['off', 'slash'], 'task.done': ['ok', 'check'], 'task.failed': ['bad', 'cross'], 'task.cancelled': ['off', 'slash'],
  'attempt.late_report': ['warn', 'clock'], 'device.registered': ['ok', 'ring'], 'device.held': ['warn', 'bars'], 'device.unheld': ['ok', 'check'],
  'host.silent': ['bad', 'off'], 'host.deaf': ['warn', 'off'], 'host.removed': ['off', 'dash'], 'host.draining': ['warn', 'bars'],
};

// What belongs to an event, in words.
function told(e) {
  const d = e.detail ?? {};
  const look = Object.hasOwn(looks, e.kind) ? looks[e.kind] : ['idle', 'ring'];
  const words = [
    d.condition && `now ${d.condition}`, d.hold && d.hold !== 'none' && d.hold, d.code, d.message, d.reason, d.name, d.version && `version ${d.version}`, d.strategy && `by ${d.strategy}`,
  ];
  return [look, words.filter(Boolean).join(' · ')];
}
