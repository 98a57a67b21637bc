// One version of a workflow: its text, and the tasks that ran it.

import { withQuery } from '../api.js';
import { problemNotice, taskTitle } from '../describe.js';
import { h, keyed, paced, replace, text } from '../dom.js';
import { time } from '../format.js';
import { deviceLink } from '../names.js';
import { address } from '../router.js';
import { badge, taskLook } from '../status.js';

export default {
  title: (params) => params.name,
  mount(root, { params, query, api, signal, live, setQuery }) {
    const path = `/v1/workflows/${encodeURIComponent(params.name)}`;
    let version = Number(query.version) || 0;
    let newest = 0;
    const problem = h('div');
    const choice = h('select', { class: 'input', 'aria-label': 'Version', on: { change: () => choose(Number(choice.value)) } });
    const source = h('ol', { class: 'source' });
    const changed = h('span', { class: 'small muted' });
    const tasks = h('tbody');
    const run = h('a', { class: 'button primary', href: '/submit' }, 'Run');
    replace(root, h('div', { class: 'page' },
      h('div', { class: 'page-head' }, h('h1', null, params.name), choice, run), problem,
      h('div', { class: 'two-columns even' },
        h('section', { class: 'card', 'aria-labelledby': 'source-title' }, h('header', null, h('h2', { id: 'source-title' }, 'Steps'), changed),
          h('div', { class: 'source-scroll', tabindex: '0', role: 'region', 'aria-label': 'Text of the workflow' }, source)),
        h('section', { class: 'card', 'aria-labelledby': 'runs-title' }, h('header', null, h('h2', { id: 'runs-title' }, 'Tasks'), h('a', { class: 'small', href: withQuery('/tasks', { workflow: params.name }) }, 'All')),
          h('div', { class: 'table-scroll' }, h('table', { class: 'table' }, h('caption', { class: 'sr-only' }, 'Tasks that ran it'),
            h('thead', null, h('tr', null, h('th', { scope: 'col', class: 'iconic' }, 'Status'), h('th', { scope: 'col', class: 'main' }, 'Task'), h('th', { scope: 'col', class: 'nowrap' }, 'Submitted'))), tasks))))));
    const choose = (n) => {
      version = n === newest ? 0 : n;
      setQuery({ version: version || '' });
      read();
    };
    const read = paced(async () => {
      try {
        const [newestOne, ran] = await Promise.all([
          api.get(`${path}?version=0`, { signal }), api.get(withQuery('/v1/tasks', { workflow: params.name, limit: 20 }), { signal }).catch((err) => (err.status === 0 ? Promise.reject(err) : { tasks: [] })),
        ]);
        newest = newestOne.version;
        const shown = version && version !== newest ? await api.get(`${path}?version=${version}`, { signal }) : newestOne;
        replace(problem);
        if (choice.options.length !== newest) replace(choice, Array.from({ length: newest }, (_, i) => h('option', { value: newest - i }, `Version ${newest - i}${i === 0 ? ' (newest)' : ''}`)));
        choice.value = String(shown.version);
        run.href = withQuery('/submit', { workflow: params.name, version: shown.version === newest ? '' : shown.version });
        replace(changed, 'applied ', time(shown.created_at, 'ago'));
        const lines = shown.source.replace(/\n$/, '').split('\n');
        if (source.shown !== shown.source) replace(source, lines.map((line) => h('li', null, h('code', null, line || ' '))));
        source.shown = shown.source;
        keyed(tasks, ran.tasks, (t) => t.id, (t) => fill(h('tr'), t), fill);
      } catch (err) {
        if (signal.aborted || err.status === 401) return;
        if (err.status === 404) {
          replace(root, h('div', { class: 'empty card' }, h('h1', null, 'There is no such workflow'), h('a', { class: 'button', href: '/workflows' }, 'See all workflows')));
        } else if (err.status !== 0 || !newest) replace(problem, problemNotice(err, read));
      }
    }, 1000, signal);
    const off = live.on((e) => {
      if (e.kind === 'reset' || e.kind.startsWith('workflow.') || e.kind.startsWith('task.')) read();
    });
    read();
    return off;
  },
};

function fill(node, t) {
  const seen = JSON.stringify([t.status, t.device_id]);
  if (node.shown === seen) return node;
  node.shown = seen;
  replace(node, h('td', { class: 'iconic' }, badge(taskLook(t.status))),
    h('td', { class: 'main' }, h('div', { class: 'list-main' }, h('a', { class: 'row-link cut', href: address('tasks', t.id), data: { row: '' } }, taskTitle(t)), h('span', { class: 'list-sub' }, deviceLink(t.device_id)))),
    h('td', { class: 'nowrap' }, time(t.created_at, 'ago')));
  return node;
}
