// The view Now: the wall of devices, what waits, and how the last hour went.

import { throughputChart } from '../chart.js';
import { constraintTags, problemNotice } from '../describe.js';
import { h, keyed, paced, perFrame, replace, text } from '../dom.js';
import { count, plural, setTime, time } from '../format.js';
import { Pool } from '../pool.js';
import { address } from '../router.js';
import { deviceLook } from '../status.js';
import { wall } from '../wall.js';

const pace = 1500; // between two answers, in milliseconds
const patience = 10000; // without an event: leases are renewed without one

export default {
  title: () => 'Now',
  mount(root, { signal, live, api, query, setQuery }) {
    const pool = new Pool();
    let shown = false;
    const parts = layout(root, query, (show) => setQuery({ show: show === 'all' ? '' : show }));
    const draw = perFrame(() => {
      if (!signal.aborted && pool.overview) render(parts, pool);
    });
    const fetch = paced(async () => {
      try {
        pool.load(await api.get('/v1/overview', { signal }));
        replace(parts.problem);
        draw();
        if (!shown) requestAnimationFrame(() => performance.mark('wall-shown'));
        shown = true;
      } catch (err) {
        if (!signal.aborted && err.status !== 0 && err.status !== 401) replace(parts.problem, problemNotice(err));
        if (!signal.aborted && err.status === 0 && !pool.overview) replace(parts.problem, problemNotice(err, fetch));
      }
    }, pace, signal);
    const off = live.on((event) => {
      pool.apply(event);
      draw();
      fetch();
    });
    parts.wall.onChange(draw);
    const timer = setInterval(fetch, patience);
    fetch();
    return () => {
      off();
      clearInterval(timer);
    };
  },
};

function layout(root, query, chose) {
  const parts = { problem: h('div'), wall: wall(query.show ?? 'all', chose), stats: stats(), lanes: h('div', { class: 'lanes' }), failures: h('ul', { class: 'failures' }) };
  parts.chart = h('div', { class: 'chart' });
  parts.chartTop = h('span', { class: 'small muted' });
  parts.laneCount = h('span', { class: 'small muted' });
  replace(root, h('div', { class: 'page now' },
    h('h1', { class: 'sr-only' }, 'The pool now'),
    parts.problem, parts.stats.node,
    h('div', { class: 'now-grid' },
      parts.wall.node,
      h('div', { class: 'now-aside' },
        h('section', { class: 'card', 'aria-labelledby': 'queue-title' }, h('header', null, h('h2', { id: 'queue-title' }, 'Queue'), parts.laneCount), parts.lanes),
        h('section', { class: 'card', 'aria-labelledby': 'hour-title' },
          h('header', null, h('h2', { id: 'hour-title' }, 'Last hour'), parts.chartTop),
          h('div', { class: 'body' }, parts.chart, h('div', { class: 'chart-axis small muted', 'aria-hidden': 'true' }, ['60 min', '45', '30', '15', 'now'].map((t) => h('span', null, t))))),
        h('section', { class: 'card', 'aria-labelledby': 'failures-title' },
          h('header', null, h('h2', { id: 'failures-title' }, 'Failures'), h('a', { class: 'small', href: '/tasks?status=failed' }, 'All')), parts.failures)))));
  return parts;
}

function stats() {
  const devices = stat('Devices', '/devices');
  const queue = stat('Queued', '/tasks?status=queued');
  const running = stat('Running', '/tasks?status=assigned,dispatched');
  const ended = stat('Ended in an hour', '/tasks?status=done,failed,cancelled');
  const bar = h('div', { class: 'mix', role: 'img' });
  devices.node.append(bar);
  return { node: h('section', { class: 'stats', 'aria-label': 'Figures' }, devices.node, queue.node, running.node, ended.node), devices, queue, running, ended, bar };
}

function stat(name, href) {
  const value = h('span', { class: 'stat-value' }, '–');
  const hint = h('span', { class: 'stat-hint muted' });
  return { node: h('a', { class: 'stat card', href }, h('span', { class: 'stat-name' }, name), value, hint), value, hint };
}

function render(parts, pool) {
  const { overview, tasks } = pool;
  parts.wall.node.setAttribute('aria-busy', 'false');
  const devices = [...pool.devices.values()];
  parts.wall.show(devices, overview.hosts);
  showStats(parts.stats, devices, tasks, overview);
  showLanes(parts, overview, (id) => pool.devices.get(id)?.name ?? overview.hosts.find((host) => host.id === id)?.name);
  throughputChart(parts.chart, overview.throughput);
  const ended = tasks.done + tasks.failed + tasks.cancelled;
  text(parts.chartTop, ended === 0 ? 'no task ended' : `${plural(ended, 'task')} · up to ${count(Number(parts.chart.dataset.top))} a minute`);
  showFailures(parts.failures, overview, pool.devices);
}

const mixOrder = ['busy', 'ok', 'idle', 'warn', 'bad', 'off'];

function showStats(s, devices, tasks, overview) {
  const tones = { busy: 0, ok: 0, idle: 0, warn: 0, bad: 0, off: 0 };
  for (const d of devices) tones[deviceLook(d).tone]++;
  text(s.devices.value, count(devices.length));
  const others = devices.length - tones.busy - tones.ok;
  const words = `${count(tones.busy)} busy, ${count(tones.ok)} idle${others ? `, ${count(others)} other` : ''}`;
  text(s.devices.hint, words);
  s.bar.setAttribute('aria-label', words);
  keyed(s.bar, mixOrder.filter((tone) => tones[tone] > 0), (tone) => tone, (tone) => h('span', { data: { tone } }));
  for (const span of s.bar.children) span.style.flexGrow = tones[span.dataset.tone];
  text(s.queue.value, count(tasks.queued));
  const oldest = overview.lanes.map((l) => l.oldest.submitted_at).filter(Boolean).sort()[0];
  if (tasks.queued > 0 && oldest) replace(s.queue.hint, 'oldest ', keptTime(s.queue, oldest));
  else text(s.queue.hint, tasks.queued > 0 ? '' : 'nothing waits');
  text(s.running.value, count(tasks.assigned + tasks.dispatched));
  text(s.running.hint, tasks.assigned > 0 ? `${count(tasks.assigned)} not yet claimed` : 'all on their devices');
  if (tasks.assigned + tasks.dispatched === 0) text(s.running.hint, 'nothing runs');
  text(s.ended.value, count(tasks.done + tasks.failed + tasks.cancelled));
  text(s.ended.hint, `${count(tasks.failed)} failed, ${count(tasks.cancelled)} cancelled`);
}

function keptTime(at, t) {
  at.time ??= time(t);
  setTime(at.time, t);
  return at.time;
}

function showLanes(parts, overview, nameOf) {
  const { lanes, lane_count: all } = overview;
  text(parts.laneCount, all > lanes.length ? `${count(lanes.length)} of ${plural(all, 'lane')}` : plural(all, 'lane'));
  if (lanes.length === 0) {
    if (!parts.lanes.querySelector('.empty')) {
      parts.lanes.keyed = undefined;
      replace(parts.lanes, h('p', { class: 'empty' }, 'Nothing waits. A task that is submitted now starts as soon as a device matches.'));
    }
    return;
  }
  if (!parts.lanes.keyed) replace(parts.lanes);
  const most = Math.max(...lanes.map((l) => l.queued));
  keyed(parts.lanes, lanes, (l) => JSON.stringify(l.constraints), (l) => {
    const node = h('a', { class: 'lane', href: laneHref(l) }, constraintTags(l.constraints, nameOf),
      h('span', { class: 'lane-depth' }, h('span', { class: 'lane-count' }), h('span', { class: 'sr-only' }, ' queued, '), h('span', { class: 'bar', data: { tone: 'busy' } }, h('span'))),
      h('span', { class: 'small muted nowrap' }, 'oldest ', time(l.oldest.submitted_at, 'since')));
    fillLane(node, l, most);
    return node;
  }, (node, l) => fillLane(node, l, most));
}

function laneHref(l) {
  const q = new URLSearchParams({ status: 'queued' });
  if (l.constraints.driver_type) q.set('driver_type', l.constraints.driver_type);
  return `/tasks?${q}`;
}

function fillLane(node, l, most) {
  text(node.querySelector('.lane-count'), count(l.queued));
  node.querySelector('.bar > span').style.width = `${Math.max(2, (l.queued / most) * 100)}%`;
  setTime(node.querySelector('time'), l.oldest.submitted_at, 'since');
}

function showFailures(list, overview, devices) {
  if (overview.failures.length === 0) {
    list.keyed = undefined;
    if (!list.querySelector('.empty')) replace(list, h('li', { class: 'empty' }, 'No task has failed.'));
    return;
  }
  if (!list.keyed) replace(list);
  keyed(list, overview.failures, (f) => f.task_id, (f) => h('li', null, h('a', { class: 'failure', href: address('tasks', f.task_id) },
    h('span', { class: 'row spread' }, h('span', { class: 'cut grow' }, f.brief || f.task_id), h('span', { class: 'small muted' }, time(f.finished_at))),
    h('span', { class: 'row small' }, h('span', { class: 'failure-code', data: { tone: 'bad' } }, f.failure.code),
      h('span', { class: 'muted cut grow' }, [devices.get(f.device_id)?.name, f.failure.message].filter(Boolean).join(' · '))))));
}
