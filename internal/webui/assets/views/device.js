// One device: what it does, what it is, and what it did last.

import { withQuery } from '../api.js';
import { problemNotice, taskTitle } from '../describe.js';
import { ask } from '../dialogs.js';
import { h, keyed, paced, replace, text } from '../dom.js';
import { duration, millis, short, time } from '../format.js';
import { hostLink } from '../names.js';
import { address } from '../router.js';
import { badge, deviceLook, setBadge, taskLook } from '../status.js';

export default {
  title: (params) => short(params.id),
  mount(root, context) {
    const { params, api, signal, live, setTitle } = context;
    const parts = layout(root, context, () => read());
    const read = paced(async () => {
      try {
        const [found, tasks] = await Promise.all([
          api.get(withQuery('/v1/devices', { text: params.id, limit: 5 }), { signal }),
          api.get(withQuery('/v1/tasks', { device_id: params.id, limit: 15 }), { signal }),
        ]);
        const device = found.devices.find((d) => d.id === params.id);
        if (!device) {
          replace(root, h('div', { class: 'empty card' }, h('h1', null, 'There is no such device'), h('p', null, 'Its host may have been removed from the pool.'),
            h('a', { class: 'button', href: '/devices' }, 'See all devices')));
          return;
        }
        setTitle(device.name || short(device.id));
        replace(parts.problem);
        show(parts, device, tasks.tasks);
      } catch (err) {
        if (!signal.aborted && err.status !== 401 && (err.status !== 0 || !parts.shown)) replace(parts.problem, problemNotice(err, read));
      }
    }, 800, signal);
    const off = live.on((e) => {
      if (e.kind === 'reset' || e.device_id === params.id || (e.host_id && e.host_id === parts.device?.host_id)) read();
    });
    read();
    return off;
  },
};

function layout(root, { params, api }, read) {
  const parts = { problem: h('div'), shown: false, device: null };
  parts.title = h('h1', null, short(params.id));
  parts.badge = badge(deviceLook({}));
  parts.does = h('div', { class: 'stack small-gap' });
  parts.facts = h('dl', { class: 'facts' });
  parts.attributes = h('dl', { class: 'facts' });
  parts.tasks = h('tbody');
  const path = `/v1/devices/${encodeURIComponent(params.id)}`;
  const button = (name, question, danger) => h('button', { class: ['button', danger && 'danger'], type: 'button', hidden: true, on: { click: async () => (await ask(question())) && read() } }, name);
  parts.cordon = button('Cordon', () => ({
    title: 'Keep new tasks from this device?', text: 'What runs on it goes on. It takes nothing new until somebody uncordons it.', does: 'Cordon', reason: 'Why (for others)',
    act: (reason) => api.post(`${path}/cordon`, reason ? { reason } : undefined),
  }));
  parts.uncordon = button('Uncordon', () => ({
    title: 'Let it take tasks again?', text: 'This ends the device’s hold, a cordon or a quarantine.', does: 'Uncordon', act: () => api.post(`${path}/uncordon`),
  }));
  parts.release = button('Release', () => ({
    title: 'End the attempt that holds this device?', danger: true, does: 'Release',
    text: 'For one that is wedged: its host is not asked. The task is tried again within its limit, and the device takes nothing until its host has confirmed that nothing is left on it.',
    act: () => api.post(`${path}/release`),
  }), true);
  parts.page = h('div', { class: 'page', hidden: true },
    h('div', { class: 'page-head' }, h('div', { class: 'grow' }, h('div', { class: 'row' }, parts.badge, h('span', { class: 'small muted mono cut' }, params.id)), parts.title),
      parts.timeline = h('a', { class: 'button', href: '/timeline' }, 'Timeline'), parts.uncordon, parts.cordon, parts.release),
    h('div', { class: 'two-columns' },
      h('div', { class: 'stack' },
        h('section', { class: 'card', 'aria-label': 'What it does' }, h('div', { class: 'body' }, parts.does)),
        h('section', { class: 'card', 'aria-labelledby': 'device-tasks' }, h('header', null, h('h2', { id: 'device-tasks' }, 'Tasks'),
          h('a', { class: 'small', href: withQuery('/tasks', { device_id: params.id }) }, 'All')),
        h('div', { class: 'table-scroll' }, h('table', { class: 'table' }, h('caption', { class: 'sr-only' }, 'Tasks whose newest attempt is or was on this device'),
          h('thead', null, h('tr', null, ['Status', 'Task', 'Began', 'Took'].map((n, i) => h('th', { scope: 'col', class: ['iconic', 'main', 'nowrap', 'num wide'][i] }, n)))), parts.tasks)))),
      h('aside', { class: 'stack', 'aria-label': 'About this device' },
        h('section', { class: 'card', 'aria-labelledby': 'device-facts' }, h('header', null, h('h2', { id: 'device-facts' }, 'Device')), h('div', { class: 'body' }, parts.facts)),
        parts.attributeCard = h('section', { class: 'card', 'aria-labelledby': 'device-attributes' }, h('header', null, h('h2', { id: 'device-attributes' }, 'Attributes')), h('div', { class: 'body' }, parts.attributes)))));
  replace(root, parts.problem, parts.page);
  return parts;
}

function show(parts, d, tasks) {
  parts.shown = true;
  parts.device = d;
  parts.page.hidden = false;
  text(parts.title, d.name || short(d.id));
  parts.timeline.href = withQuery('/timeline', { q: d.name });
  setBadge(parts.badge, deviceLook(d));
  parts.cordon.hidden = d.hold !== 'none';
  parts.uncordon.hidden = d.hold === 'none';
  parts.release.hidden = !d.task_id;
  replace(parts.does, sentences(d, tasks));
  const facts = [
    ['Host', hostLink(d.host_id)], ['Driver', d.driver_type], ['Condition', condition(d)], ['Hold', d.hold],
    ['Fence', d.fence === 'gate' ? 'gate: its access is cut' : d.fence === 'process' ? 'process: the runner is killed' : null],
    ['Runners', h('span', { class: 'tags' }, d.runners.map((r) => h('span', { class: 'tag' }, r)))],
    ['Tags', h('span', { class: 'tags' }, d.tags.map((t) => h('span', { class: 'tag' }, t)))], ['Registered', time(d.registered_at, 'ago')],
  ];
  replace(parts.facts, facts.filter(([, v]) => v).map(([k, v]) => [h('dt', null, k), h('dd', null, v)]));
  const attributes = Object.entries(d.attributes ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  parts.attributeCard.hidden = attributes.length === 0;
  replace(parts.attributes, attributes.map(([k, v]) => [h('dt', { class: 'cut', title: k }, k), h('dd', null, v)]));
  keyed(parts.tasks, tasks, (t) => t.id, (t) => row(h('tr'), t), row);
}

function condition(d) {
  return [d.condition, d.condition_reason && `: ${d.condition_reason}`, h('span', { class: 'muted' }, ' for ', time(d.condition_since, 'since'))];
}

function sentences(d, tasks) {
  const task = tasks.find((t) => t.id === d.task_id);
  const said = [];
  if (d.task_id) {
    said.push(h('p', { class: 'lead' }, 'It runs ', h('a', { href: address('tasks', d.task_id) }, task ? taskTitle(task) : short(d.task_id)), '.'));
    if (task) {
      said.push(h('p', { class: 'muted' }, `Attempt ${task.attempt} of at most ${task.max_attempts}, for `, time(task.dispatched_at ?? task.assigned_at, 'since'),
        task.lease_expires_at && ['; lease ', time(task.lease_expires_at, 'left')], task.cancel_requested && '; its cancellation is on its way', '.'));
    }
  } else if (!d.unavailable) said.push(h('p', { class: 'lead' }, 'It is idle and takes the next task that it matches.'));
  else said.push(h('p', { class: 'lead' }, `It takes nothing now: ${deviceLook(d).word}.`));
  if (d.hold !== 'none') {
    said.push(h('p', { class: 'notice', data: { tone: d.hold === 'cordoned' ? 'warn' : 'bad' } },
      h('span', { class: 'grow' }, `${d.hold === 'cordoned' ? 'Cordoned' : 'Quarantined'}${d.hold_reason ? `: ${d.hold_reason}` : ''}`), h('span', { class: 'muted nowrap' }, time(d.hold_since, 'ago'))));
  } else if (d.unavailable && !d.task_id && d.condition_reason) said.push(h('p', { class: 'notice', data: { tone: 'warn' } }, d.condition_reason));
  return said;
}

function row(node, t) {
  const seen = JSON.stringify(t);
  if (node.shown === seen) return node;
  node.shown = seen;
  const took = t.finished_at && t.dispatched_at ? duration(millis(t.finished_at) - millis(t.dispatched_at)) : t.status === 'dispatched' ? time(t.dispatched_at, 'since') : '–';
  replace(node, h('td', { class: 'iconic' }, badge(taskLook(t.status))),
    h('td', { class: 'main' }, h('div', { class: 'list-main' }, h('a', { class: 'row-link cut', href: address('tasks', t.id), data: { row: '' } }, taskTitle(t)),
      t.failure && h('span', { class: 'list-sub cut' }, h('span', { class: 'failure-code', data: { tone: 'bad' } }, t.failure.code)))),
    h('td', { class: 'nowrap' }, time(t.assigned_at ?? t.created_at, 'ago')), h('td', { class: 'num wide' }, took));
  return node;
}
