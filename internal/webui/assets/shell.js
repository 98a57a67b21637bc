// What stands around every view: navigation, search, theme, and whether the page is connected.

import { h, replace } from './dom.js';
import { icon } from './icons.js';
import { shortcuts } from './keys.js';
import { live } from './live.js';
import { searchBox } from './search.js';
import { mark } from './signin.js';
import { themeButton } from './themes.js';

/** The places of the navigation; the key is for "g" and then it. */
export const places = [
  { href: '/', name: 'Now', icon: 'now', key: 'n' },
  { href: '/timeline', name: 'Timeline', icon: 'timeline', key: 'l' },
  { href: '/tasks', name: 'Tasks', icon: 'tasks', key: 't' },
  { href: '/devices', name: 'Devices', icon: 'devices', key: 'd' },
  { href: '/hosts', name: 'Hosts', icon: 'hosts', key: 'h' },
  { href: '/workflows', name: 'Workflows', icon: 'workflows', key: 'w' },
  { href: '/events', name: 'Events', icon: 'events', key: 'e' },
];

/**
 * Puts the frame onto the page.
 * @param {Element} app
 * @param {{signOut: () => void}} does
 */
export function frame(app, { signOut }) {
  const links = places.map((p) => h('a', { href: p.href, class: 'place' }, icon(p.icon), h('span', null, p.name)));
  const said = h('div', { class: 'sr-only', role: 'status', 'aria-live': 'polite' });
  const main = h('main', { id: 'main', tabindex: '-1' });
  const search = searchBox();
  const keys = shortcuts({ search, places });
  const connection = connectionParts(said);
  const update = h('div', { class: 'banner', data: { tone: 'busy' }, hidden: true },
    h('span', null, 'The server has a newer dashboard.'),
    h('button', { class: 'button small', type: 'button', on: { click: () => location.reload() } }, 'Reload'));
  const submit = h('a', { class: 'button primary', href: '/submit' }, icon('submit'), h('span', null, 'Submit'));

  replace(app, h('div', { class: 'shell' },
    h('a', { class: 'skip', href: '#main', on: { click: (e) => { e.preventDefault(); main.focus(); } } }, 'Skip to the content'),
    h('header', { class: 'side' },
      h('a', { class: 'brand', href: '/', 'aria-label': 'Phonebooth, the pool now' }, mark(), h('span', null, 'Phonebooth')),
      h('nav', { class: 'places', 'aria-label': 'Views' }, links),
      h('div', { class: 'side-end' }, connection.light,
        h('div', { class: 'row' }, themeButton(), keys.button,
          h('button', { class: 'button ghost icon', type: 'button', title: 'Sign out', 'aria-label': 'Sign out', on: { click: signOut } }, icon('out'))))),
    h('div', { class: 'top' }, search.node, submit),
    h('div', { class: 'content' }, connection.banner, update, main),
    said));

  return {
    /** An empty element for a view. */
    fresh() {
      const root = h('div', { class: 'view' });
      replace(main, root);
      return root;
    },
    /** Marks where the page is. */
    at(href) {
      for (const link of [...links, submit]) {
        if (link.getAttribute('href') === href) link.setAttribute('aria-current', 'page');
        else link.removeAttribute('aria-current');
      }
      const here = links.find((link) => link.getAttribute('href') === href);
      if (here) here.parentElement.scrollLeft = here.offsetLeft - 40;
    },
    /** After a move: readers are told where they are, and go on from the view's head. */
    arrived() {
      scrollTo(0, 0);
      const head = main.querySelector('h1');
      if (head) head.tabIndex = -1;
      (head ?? main).focus({ preventScroll: true });
    },
    /** Tells screen readers something. */
    announce(text) {
      said.textContent = text;
    },
    updated() {
      update.hidden = false;
    },
    end() {
      connection.end();
      keys.end();
      search.end();
      replace(app);
    },
  };
}

const patience = 1200; // before a short break is told

function connectionParts(said) {
  const word = h('span', null, 'connecting');
  const light = h('div', { class: 'light', data: { state: 'connecting' } }, h('span', { class: 'dot', 'aria-hidden': 'true' }), word);
  const banner = h('div', { class: 'banner', data: { tone: 'warn' }, hidden: true },
    h('span', null, 'Not connected: the server does not answer. What is shown may be old; it is tried again all the time.'),
    h('button', { class: 'button small', type: 'button', on: { click: () => live.hurry() } }, 'Try now'));
  let timer = 0;
  let told = false;
  const off = live.onState((state) => {
    clearTimeout(timer);
    light.dataset.state = state;
    word.textContent = { connecting: 'connecting', connected: 'live', lost: 'not connected', paused: 'paused' }[state];
    if (state === 'connected') {
      banner.hidden = true;
      document.body.classList.remove('stale');
      if (told) said.textContent = 'Connected again.';
      told = false;
    } else if (state === 'lost') {
      timer = setTimeout(() => {
        banner.hidden = false;
        document.body.classList.add('stale');
        told = true;
        said.textContent = 'Not connected to the server.';
      }, patience);
    }
  });
  return {
    light,
    banner,
    end() {
      clearTimeout(timer);
      off();
      document.body.classList.remove('stale');
    },
  };
}
