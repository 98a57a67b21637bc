// The list of tasks, newest first.

import { withQuery } from '../api.js';
import { constraintTags, taskTitle } from '../describe.js';
import { h } from '../dom.js';
import { duration, millis, time } from '../format.js';
import { showList } from '../list.js';
import { deviceLink, hostChoices } from '../names.js';
import { address } from '../router.js';
import { badge, taskLook, taskLooks } from '../status.js';

const statuses = ['queued', 'assigned', 'dispatched', 'done', 'failed', 'cancelled'];

export default {
  title: () => 'Tasks',
  mount(root, context) {
    return showList(root, {
      context,
      title: 'Tasks',
      filters: [
        { name: 'status', label: 'Status', kind: 'chips', many: true, options: statuses.map((s) => [s, taskLooks[s]]) },
        { name: 'text', label: 'Text in the goal', kind: 'search', hint: 'Search goals' },
        { name: 'label', label: 'Label', kind: 'text', hint: 'Label, as team=checkout' },
        { name: 'host_id', label: 'Host', kind: 'select', load: hostChoices },
        { name: 'driver_type', label: 'Driver', kind: 'hidden' },
        { name: 'device_id', label: 'Device', kind: 'hidden' },
        { name: 'workflow', label: 'Workflow', kind: 'hidden' },
      ],
      columns: [
        { name: 'Status', class: 'iconic' }, { name: 'Task', class: 'main' }, { name: 'Device', class: 'wide' }, { name: 'Attempt', class: 'num wider' },
        { name: 'Submitted', class: 'nowrap' }, { name: 'Took', class: 'num wide' },
      ],
      key: (t) => t.id,
      cells,
      concerns: (e) => e.kind.startsWith('task.'),
      async read(values, cursor, limit) {
        const { label, ...rest } = values;
        const got = await context.api.get(withQuery('/v1/tasks', { ...rest, label: label.split(/[\s,]+/), cursor, limit }), { signal: context.signal });
        return { items: got.tasks, next: got.next };
      },
      empty: (filtered) => (filtered
        ? h('p', null, 'No task is like that.')
        : [h('h2', null, 'There is no task yet'), h('p', null, 'Say what a device should do:'), h('pre', null, 'phonebooth submit --goal \'open Settings\' --wait'),
          h('a', { class: 'button primary', href: '/submit' }, 'Submit a task')]),
    }).end;
  },
};

function cells(t) {
  const labels = Object.entries(t.labels ?? {});
  const word = t.cancel_requested && t.status === 'dispatched' ? 'cancelling' : undefined;
  return [
    badge(taskLook(t.status), { word }),
    h('div', { class: 'list-main' }, h('a', { class: 'row-link cut', href: address('tasks', t.id), data: { row: '' } }, taskTitle(t)),
      h('span', { class: 'list-sub cut' }, t.failure ? h('span', { class: 'failure-code', data: { tone: 'bad' } }, t.failure.code) : null,
        t.status === 'queued' ? constraintTags(t.constraints) : labels.map(([k, v]) => h('span', { class: 'tag' }, `${k}=${v}`)))),
    deviceLink(t.device_id) ?? h('span', { class: 'muted' }, '–'),
    t.attempt > 0 ? `${t.attempt}/${t.max_attempts}` : h('span', { class: 'muted' }, '–'),
    time(t.created_at, 'ago'),
    took(t),
  ];
}

function took(t) {
  if (t.status === 'dispatched') return time(t.dispatched_at, 'since');
  if (t.finished_at && t.dispatched_at) return duration(millis(t.finished_at) - millis(t.dispatched_at));
  return h('span', { class: 'muted' }, '–');
}
