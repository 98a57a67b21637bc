// A list that filters, pages and stays fresh. What it shows is the server's answer; events only say when to ask again.

import { problemNotice } from './describe.js';
import { h, keyed, paced, replace } from './dom.js';
import { filterBar } from './filters.js';

const pace = 1200; // between two answers, in milliseconds
const most = 200; // rows that are kept fresh; older ones stay as they were read

/**
 * Shows a list in a view.
 * @param {Element} root
 * @param {{
 *   context: any, what the view was given
 *   title: string, head?: any, filters: import('./filters.js').Filter[],
 *   read: (values: Object<string, string>, cursor: string|undefined, limit: number) => Promise<{items: any[], next?: string}>,
 *   pageSize?: number, columns: {name: string, class?: string, hidden?: boolean}[], key: (item: any) => string,
 *   cells: (item: any) => any[], concerns: (event: any) => boolean, empty: (filtered: boolean) => any, every?: number,
 * }} list cells gives what stands in each column
 */
export function showList(root, list) {
  const { signal, live, setQuery } = list.context;
  const size = list.pageSize ?? 50;
  const state = { items: [], next: undefined, asked: 0, loaded: false };
  const body = h('tbody');
  const table = h('table', { class: 'table' },
    h('caption', { class: 'sr-only' }, list.title),
    h('thead', null, h('tr', null, list.columns.map((c) => h('th', { scope: 'col', class: c.class }, c.hidden ? h('span', { class: 'sr-only' }, c.name) : c.name)))), body);
  const problem = h('div');
  const empty = h('div', { hidden: true });
  const more = h('button', { class: 'button', type: 'button', on: { click: () => readMore() } }, 'Show more');
  const foot = h('div', { class: 'list-foot' }, more);
  const card = h('section', { class: 'card list', 'aria-label': list.title, 'aria-busy': 'true' }, h('div', { class: 'table-scroll' }, table), empty, foot);
  const bar = filterBar(list.filters, list.context.query, (values) => {
    setQuery(values);
    state.items = [];
    state.next = undefined;
    state.asked++;
    state.loaded = false;
    card.setAttribute('aria-busy', 'true');
    read();
  });
  const strange = Object.keys(list.context.query).filter((name) => !list.filters.some((f) => f.name === name));
  const ignored = strange.length > 0 && h('p', { class: 'notice', data: { tone: 'warn' }, role: 'status' }, `The address asks for what this list cannot filter by: ${strange.join(', ')}.`);
  replace(root, h('div', { class: 'page' }, h('div', { class: 'page-head' }, h('h1', null, list.title), list.head), bar.node, ignored, problem, card));

  const draw = () => {
    keyed(body, state.items, list.key, (item) => fill(h('tr'), item), fill);
    table.hidden = state.items.length === 0;
    const nothing = state.loaded && state.items.length === 0 && !state.next;
    const looking = state.loaded && state.items.length === 0 && Boolean(state.next);
    empty.hidden = !nothing && !looking;
    if (looking) replace(empty, h('div', { class: 'empty' }, h('p', null, 'Nothing like that among the newest; older ones were not looked at yet.')));
    if (nothing) replace(empty, h('div', { class: 'empty' }, list.empty(Object.values(bar.values).some(Boolean))));
    foot.hidden = !state.next;
    if (state.loaded) card.setAttribute('aria-busy', 'false');
  };
  const fill = (row, item) => {
    const seen = JSON.stringify(item);
    if (row.shown === seen) return row;
    row.shown = seen;
    // A row that has the focus keeps it.
    const focused = row.contains(document.activeElement);
    replace(row, list.cells(item).map((cell, i) => h('td', { class: list.columns[i].class }, cell)));
    if (focused) row.querySelector('[data-row]')?.focus({ preventScroll: true });
    return row;
  };
  // One page, as long as wanted: an answer of the server may be short and not the last.
  const page = async (cursor, limit) => {
    const items = [];
    let next = cursor;
    for (let i = 0; i < 6; i++) {
      const got = await list.read(bar.values, next, limit - items.length);
      items.push(...got.items);
      next = got.next;
      if (!next || items.length >= limit) break;
    }
    return { items, next };
  };
  const attempt = async (f) => {
    const { asked } = state;
    try {
      const got = await f();
      if (signal.aborted || asked !== state.asked) return;
      replace(problem);
      state.loaded = true;
      got();
      draw();
    } catch (err) {
      if (signal.aborted || asked !== state.asked || err.status === 401) return;
      if (err.status !== 0 || !state.loaded) replace(problem, problemNotice(err, read));
      state.loaded = err.status !== 0;
      draw();
    }
  };
  const read = paced(() => attempt(async () => {
    const limit = Math.min(Math.max(state.items.length, size), most);
    const got = await page(undefined, limit);
    return () => {
      const rest = state.items.length > got.items.length && got.next ? state.items.slice(got.items.length).filter((item) => !got.items.some((g) => list.key(g) === list.key(item))) : [];
      if (rest.length === 0) state.next = got.next;
      state.items = [...got.items, ...rest];
    };
  }), pace, signal);
  const readMore = () => {
    more.disabled = true;
    return attempt(async () => {
      const got = await page(state.next, size);
      return () => {
        state.items = [...state.items, ...got.items];
        state.next = got.next;
      };
    }).finally(() => {
      more.disabled = false;
    });
  };
  const off = live.on((event) => {
    if (event.kind === 'reset' || list.concerns(event)) read();
  });
  const timer = list.every ? setInterval(read, list.every) : 0;
  read();
  return {
    read,
    end() {
      off();
      clearInterval(timer);
    },
  };
}
