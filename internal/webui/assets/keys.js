// Keyboard shortcuts. They are single letters, so they can be turned off, and none works while somebody writes.

import { h } from './dom.js';
import { icon } from './icons.js';
import { navigate } from './router.js';

const storageKey = 'phonebooth.keys';

function enabled() {
  try {
    return localStorage.getItem(storageKey) !== 'off';
  } catch {
    return true;
  }
}

function writes(target) {
  return target instanceof Element && target.closest('input, textarea, select, [contenteditable], dialog, [role="textbox"]');
}

/**
 * Listens for shortcuts, and has a button that shows them.
 * @param {{search: {focus: () => void}, places: {href: string, name: string, key: string}[]}} options
 */
export function shortcuts({ search, places }) {
  const off = h('input', { type: 'checkbox', checked: enabled(), id: 'keys-on', on: {
    change: () => {
      try {
        localStorage.setItem(storageKey, off.checked ? 'on' : 'off');
      } catch {
        // it is forgotten with the page
      }
    },
  } });
  const line = (keys, what) => [h('dt', { class: 'row' }, keys.map((k) => h('kbd', null, k))), h('dd', null, what)];
  const dialog = h('dialog', { 'aria-labelledby': 'keys-title', on: { click: (e) => { if (e.target === dialog) dialog.close(); } } },
    h('div', { class: 'stack' },
      h('div', { class: 'row spread' }, h('h2', { id: 'keys-title' }, 'Keyboard'),
        h('button', { class: 'button ghost icon', type: 'button', 'aria-label': 'Close', on: { click: () => dialog.close() } }, icon('close'))),
      h('dl', { class: 'facts' }, line(['/'], 'Search'), places.map((p) => line(['g', p.key], p.name)), line(['g', 's'], 'Submit a task'),
        line(['j', 'k'], 'Next and previous row of a list'), line(['?'], 'This list')),
      h('div', { class: 'row' }, off, h('label', { for: 'keys-on' }, 'Shortcuts are on'))));
  document.body.append(dialog);
  const open = () => {
    off.checked = enabled();
    dialog.showModal();
  };

  let leading = 0; // when "g" was pressed
  const onKey = (e) => {
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || e.isComposing || writes(e.target) || !enabled()) return;
    const after = performance.now() - leading < 1500;
    leading = 0;
    if (after) {
      const place = e.key === 's' ? { href: '/submit' } : places.find((p) => p.key === e.key);
      if (place) {
        e.preventDefault();
        navigate(place.href);
        return;
      }
    }
    if (e.key === 'g') leading = performance.now();
    else if (e.key === '/') {
      e.preventDefault();
      search.focus();
    } else if (e.key === '?') {
      e.preventDefault();
      open();
    } else if (e.key === 'j' || e.key === 'k') step(e, e.key === 'j' ? 1 : -1);
  };
  document.addEventListener('keydown', onKey);
  return {
    button: h('button', { class: 'button ghost icon', type: 'button', title: 'Keyboard shortcuts', 'aria-label': 'Keyboard shortcuts', on: { click: open } }, icon('keys')),
    end() {
      document.removeEventListener('keydown', onKey);
      dialog.remove();
    },
  };
}

// Moves the focus along what a list marks with data-row.
function step(e, by) {
  const rows = [...document.querySelectorAll('[data-row]')];
  if (rows.length === 0) return;
  e.preventDefault();
  const at = rows.findIndex((row) => row === document.activeElement || row.contains(document.activeElement));
  const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by));
  rows[next].focus();
}
