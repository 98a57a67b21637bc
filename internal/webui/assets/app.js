// The dashboard's frame: which view an address shows, and when it comes and goes.

import * as api from './api.js';
import { h, replace, visible } from './dom.js';
import { keepTimesFresh } from './format.js';
import { live } from './live.js';
import * as router from './router.js';
import { frame } from './shell.js';
import { signInScreen } from './signin.js';

// A view: {title(params), mount(root, context)}; what mount returns ends it. Each comes when it is first wanted, and one
// that is missing breaks no other.
const routes = [
  { path: '/', nav: '/', load: () => import('./views/now.js') },
  { path: '/timeline', nav: '/timeline', load: () => import('./views/timeline.js') },
  { path: '/tasks', nav: '/tasks', load: () => import('./views/tasks.js') },
  { path: '/tasks/:id', nav: '/tasks', load: () => import('./views/task.js') },
  { path: '/devices', nav: '/devices', load: () => import('./views/devices.js') },
  { path: '/devices/:id', nav: '/devices', load: () => import('./views/device.js') },
  { path: '/hosts', nav: '/hosts', load: () => import('./views/hosts.js') },
  { path: '/workflows', nav: '/workflows', load: () => import('./views/workflows.js') },
  { path: '/workflows/:name', nav: '/workflows', load: () => import('./views/workflow.js') },
  { path: '/events', nav: '/events', load: () => import('./views/events.js') },
  { path: '/submit', nav: '/submit', load: () => import('./views/submit.js') },
];

const app = document.getElementById('app');
let shell = null; // while somebody is signed in
let current = null; // what is mounted: {abort, end}
let broken = false; // the view that is wanted could not be loaded
let moves = 0; // of views, so that a slow one does not come over a later one

/** What a view is given. */
function context(params, abort) {
  return {
    params,
    query: router.here().query,
    signal: abort.signal,
    live,
    api,
    navigate: router.navigate,
    setQuery: router.setQuery,
    setTitle,
    announce: (text) => shell?.announce(text),
  };
}

function setTitle(title) {
  document.title = title ? `${visible(title)} · Phonebooth` : 'Phonebooth';
}

function leave() {
  const left = current;
  current = null;
  if (!left) return;
  left.abort.abort();
  try {
    left.end?.();
  } catch (err) {
    console.error(err);
  }
}

async function show({ moved = false } = {}) {
  const move = ++moves;
  const { path } = router.here();
  let route = null;
  let params = {};
  for (const r of routes) {
    const found = router.match(r.path, path);
    if (found) [route, params] = [r, found];
  }
  let view;
  try {
    [view] = await Promise.all([route?.load(), live.settled(400)]);
  } catch (err) {
    if (move === moves) notLoaded(err);
    return;
  }
  if (move !== moves || signInShown) return;
  shell ??= frame(app, { signOut });
  leave();
  shell.at(route?.nav);
  const root = shell.fresh();
  if (!view) {
    setTitle('No such page');
    replace(root, h('div', { class: 'empty card' }, h('h1', null, 'There is no such page'),
      h('p', null, 'The address may be cut, or meant for another Phonebooth.'), h('a', { class: 'button', href: '/' }, 'See the pool')));
  } else {
    mount(view.default, params, root);
  }
  if (moved) shell.arrived();
}

function mount(view, params, root) {
  const abort = new AbortController();
  current = { abort, end: null };
  const mine = current;
  setTitle(view.title(params));
  try {
    const end = view.mount(root, context(params, abort));
    if (typeof end === 'function') mine.end = end;
  } catch (err) {
    console.error(err);
    replace(root, h('div', { class: 'empty card' }, h('h1', null, 'This view could not be shown'), h('p', null, 'Reload the page to try again.')));
  }
}

// A view that does not load is one of a version that is gone: the page is loaded anew, but not over and over.
function notLoaded(err) {
  console.warn('a view could not be loaded', err);
  const last = Number(sessionStorage.getItem('phonebooth.reloaded') ?? 0);
  if (live.connected && Date.now() - last > 10000) {
    sessionStorage.setItem('phonebooth.reloaded', String(Date.now()));
    location.reload();
    return;
  }
  broken = true;
  shell ??= frame(app, { signOut });
  leave();
  setTitle('Not loaded');
  replace(shell.fresh(), h('div', { class: 'empty card' }, h('h1', null, 'This view could not be loaded'),
    h('p', null, 'The server does not answer, or does not have it.'),
    h('button', { class: 'button', type: 'button', on: { click: () => show() } }, 'Try again')));
}

let signInShown = false;

function askForSignIn() {
  if (signInShown) return;
  signInShown = true;
  live.end();
  leave();
  shell?.end();
  shell = null;
  setTitle('Sign in');
  signInScreen(app, () => {
    signInShown = false;
    live.start();
    show({ moved: true });
  });
}

async function signOut() {
  try {
    await api.post('/sign-out');
  } catch {
    shell?.announce('The server does not answer; you are still signed in.');
    return;
  }
  askForSignIn();
}

// After an update of the server the page's own modules are old.
async function lookForUpdate() {
  try {
    const text = await (await fetch('/', { cache: 'no-store' })).text();
    const base = new URL('.', import.meta.url).pathname;
    if (text.includes('/assets/') && !text.includes(base)) shell?.updated();
  } catch {
    // it is away again
  }
}

// Views are small: all of them are fetched once the first one stands, so that moving between them needs no server.
function fetchOtherViews() {
  Promise.allSettled(routes.map((r) => r.load())).then(() => performance.mark('views-here'));
}

let wasLost = false;
api.onUnauthenticated(askForSignIn);
live.onState((state) => {
  if (state === 'lost') wasLost = true;
  if (state !== 'connected') return;
  if (broken) location.reload(); // a browser does not ask twice for a module
  if (wasLost) lookForUpdate();
  wasLost = false;
});
router.start(show);
live.start();
keepTimesFresh();
show().then(() => setTimeout(fetchOtherViews, 3000));
