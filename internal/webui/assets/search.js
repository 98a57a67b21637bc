// The search box: an id goes to its thing at once; other text finds devices, tasks and workflows.

import * as api from './api.js';
import { h, replace } from './dom.js';
import { icon } from './icons.js';
import { oneLine, short } from './format.js';
import { address, navigate } from './router.js';
import { badge, deviceLook, taskLook } from './status.js';

const pause = 140; // behind the last key
const most = 5; // of each kind

/** Where an id leads, or null. */
function leadsTo(text) {
  if (/^task_[0-9a-z]{6,}$/.test(text)) return address('tasks', text);
  if (/^device_[0-9a-z]{6,}$/.test(text)) return address('devices', text);
  return null;
}

async function find(text, signal) {
  const ask = (path, query) => api.get(api.withQuery(path, query), { signal }).catch(() => null);
  const [devices, tasks, workflows] = await Promise.all([
    ask('/v1/devices', { text, limit: most }), ask('/v1/tasks', { text, limit: most }), ask('/v1/workflows', {}),
  ]);
  const low = text.toLowerCase();
  return [
    ...(devices?.devices ?? []).map((d) => ({ group: 'Devices', href: address('devices', d.id), label: d.name, hint: d.driver_type, look: deviceLook(d) })),
    ...(tasks?.tasks ?? []).map((t) => ({
      group: 'Tasks', href: address('tasks', t.id), label: oneLine(t.goal, 90) || t.workflow?.name || t.id, hint: short(t.id), look: taskLook(t.status),
    })),
    ...(workflows?.workflows ?? []).filter((w) => w.name.toLowerCase().includes(low)).slice(0, most)
      .map((w) => ({ group: 'Workflows', href: address('workflows', w.name), label: w.name, hint: `version ${w.version}`, look: null })),
  ];
}

/** The box, as a combobox with a list of what was found. */
export function searchBox() {
  const input = h('input', {
    class: 'input', type: 'search', placeholder: 'Search tasks, devices, workflows', 'aria-label': 'Search tasks, devices and workflows', role: 'combobox',
    'aria-expanded': 'false', 'aria-controls': 'found', 'aria-autocomplete': 'list', autocomplete: 'off', spellcheck: 'false',
  });
  const list = h('div', { class: 'found', id: 'found', role: 'listbox', 'aria-label': 'Found', hidden: true });
  const node = h('search', { class: 'search' }, h('span', { class: 'search-icon' }, icon('search')), input, h('kbd', { 'aria-hidden': 'true' }, '/'), list);
  let items = [];
  let chosen = -1;
  let timer = 0;
  let asking = null;

  const close = () => {
    clearTimeout(timer);
    asking?.abort();
    items = [];
    chosen = -1;
    list.hidden = true;
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
  };
  const go = (href) => {
    input.value = '';
    close();
    input.blur();
    navigate(href);
  };
  const choose = (i) => {
    chosen = i;
    for (const option of list.querySelectorAll('[role="option"]')) option.setAttribute('aria-selected', String(option.id === `found-${i}`));
    if (i < 0) input.removeAttribute('aria-activedescendant');
    else {
      input.setAttribute('aria-activedescendant', `found-${i}`);
      document.getElementById(`found-${i}`)?.scrollIntoView({ block: 'nearest' });
    }
  };
  const show = (found, text) => {
    items = found;
    const groups = Object.groupBy(items.map((item, i) => ({ ...item, i })), (item) => item.group);
    replace(list, Object.entries(groups).map(([name, group], g) => h('div', { role: 'group', 'aria-labelledby': `found-group-${g}` },
      h('div', { class: 'found-group', id: `found-group-${g}` }, name),
      group.map((item) => h('div', {
        class: 'found-item', role: 'option', id: `found-${item.i}`, 'aria-selected': 'false',
        on: { pointerdown: (e) => { e.preventDefault(); go(item.href); }, pointermove: () => chosen !== item.i && choose(item.i) },
      }, h('span', { class: 'cut grow' }, item.label), h('span', { class: 'muted small nowrap' }, item.hint), item.look && badge(item.look))))),
    items.length === 0 && h('p', { class: 'found-none muted' }, `Nothing has “${oneLine(text, 40)}” in its name or goal.`));
    list.hidden = false;
    input.setAttribute('aria-expanded', 'true');
    choose(-1);
  };
  const changed = () => {
    clearTimeout(timer);
    asking?.abort();
    const text = input.value.trim();
    if (text === '') {
      close();
      return;
    }
    timer = setTimeout(async () => {
      asking = new AbortController();
      const { signal } = asking;
      const found = await find(text, signal);
      if (!signal.aborted && document.activeElement === input) show(found, text);
    }, pause);
  };
  input.addEventListener('input', changed);
  input.addEventListener('blur', close);
  input.addEventListener('keydown', (e) => {
    if (e.key === 'Escape') {
      if (list.hidden) input.blur();
      close();
    } else if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
      if (items.length === 0) return;
      e.preventDefault();
      choose((chosen + (e.key === 'ArrowDown' ? 1 : items.length + (chosen < 0 ? 0 : -1))) % items.length);
    } else if (e.key === 'Enter') {
      e.preventDefault();
      const text = input.value.trim();
      const href = items[chosen]?.href ?? leadsTo(text) ?? items[0]?.href;
      if (href) go(href);
      else if (text) go(api.withQuery('/tasks', { text }));
    }
  });
  return {
    node,
    focus: () => {
      input.focus();
      input.select();
    },
    end: close,
  };
}
