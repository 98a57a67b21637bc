// The bar that filters a list: what it holds is in the address.

import { h, keyed, replace } from './dom.js';
import { badge } from './status.js';

/**
 * @typedef {{name: string, label: string, kind: 'chips'|'text'|'search'|'select'|'hidden', options?: [string, string|import('./status.js').Look][],
 *   hint?: string, many?: boolean, load?: () => Promise<[string, string][]>}} Filter
 */

/**
 * The bar.
 * @param {Filter[]} filters
 * @param {Object<string, string>} query of the address
 * @param {(values: Object<string, string>) => void} changed gets all values
 */
export function filterBar(filters, query, changed) {
  const values = Object.fromEntries(filters.map((f) => [f.name, query[f.name] ?? '']));
  const clear = h('button', {
    class: 'button ghost small', type: 'button',
    on: {
      click: () => {
        for (const f of filters) values[f.name] = '';
        for (const part of parts) part.show();
        tell();
      },
    },
  }, 'Clear');
  const tell = () => {
    clear.hidden = Object.values(values).every((v) => v === '');
    changed({ ...values });
  };
  let timer = 0;
  const set = (name, value, { later = false } = {}) => {
    if (values[name] === value) return;
    values[name] = value;
    clearTimeout(timer);
    if (later) timer = setTimeout(tell, 200);
    else tell();
  };
  const parts = filters.map((f) => makers[f.kind](f, values, set));
  clear.hidden = Object.values(values).every((v) => v === '');
  return { node: h('div', { class: 'toolbar', role: 'search', 'aria-label': 'Filters' }, parts.map((p) => p.node), clear), values };
}

const makers = { chips, search: typed, text: typed, select, hidden };

function chips(f, values, set) {
  const chosen = () => values[f.name].split(',').filter(Boolean);
  const buttons = f.options.map(([value, look]) => h('button', {
    class: 'button', type: 'button', data: { value },
    on: {
      click: () => {
        const now = chosen();
        const next = now.includes(value) ? now.filter((v) => v !== value) : f.many ? [...now, value] : [value];
        set(f.name, f.options.map(([v]) => v).filter((v) => next.includes(v)).join(','));
        show();
      },
    },
  }, typeof look === 'string' ? look : badge(look, { plain: true })));
  const show = () => {
    for (const b of buttons) b.setAttribute('aria-pressed', String(chosen().includes(b.dataset.value)));
  };
  show();
  return { node: h('div', { class: 'segments scroll', role: 'group', 'aria-label': f.label }, buttons), show };
}

function typed(f, values, set) {
  const input = h('input', {
    class: ['input', f.kind === 'search' && 'search'], type: 'search', placeholder: f.hint ?? f.label, 'aria-label': f.label, spellcheck: 'false', autocomplete: 'off',
    on: { input: () => set(f.name, input.value.trim(), { later: true }) },
  });
  const show = () => {
    input.value = values[f.name];
  };
  show();
  return { node: input, show };
}

function select(f, values, set) {
  const node = h('select', { class: 'input', 'aria-label': f.label, on: { change: () => set(f.name, node.value) } });
  let options = f.options ?? [];
  const show = () => {
    const all = options.some(([v]) => v === values[f.name]) || values[f.name] === '' ? options : [[values[f.name], values[f.name]], ...options];
    replace(node, h('option', { value: '' }, f.hint ?? `Any ${f.label.toLowerCase()}`), all.map(([value, name]) => h('option', { value }, name)));
    node.value = values[f.name];
  };
  show();
  f.load?.().then((loaded) => {
    options = loaded;
    show();
  }, () => {});
  return { node, show };
}

// A filter that came with a link: it is shown as a thing that can be taken away.
function hidden(f, values, set) {
  const node = h('div', { class: 'row' });
  const show = () => {
    keyed(node, values[f.name] ? [values[f.name]] : [], (v) => v, (v) => h('button', {
      class: 'button small', type: 'button', 'aria-label': `${f.label} ${v}: remove this filter`, on: { click: () => { set(f.name, ''); show(); } },
    }, `${f.label} `, h('code', { class: 'cut' }, v), ' ×'));
  };
  show();
  return { node, show };
}
