// The wall: every device as a tile, by host. Tiles grow smaller as the pool grows.

import { h, keyed, replace, set, text } from './dom.js';
import { count, plural, setTime, time } from './format.js';
import { address } from './router.js';
import { badge, deviceLook, hostLook, setBadge, shape } from './status.js';

const atFirst = 200; // tiles, more than a screen has: the others come a moment later

const shows = {
  all: { name: 'All', test: () => true },
  busy: { name: 'Busy', test: (look) => look.tone === 'busy' },
  idle: { name: 'Idle', test: (look) => look.tone === 'ok' },
  attention: { name: 'Needs attention', test: (look) => look.tone === 'bad' || look.tone === 'warn' },
};

/**
 * @param {string} shown which devices, at first
 * @param {(show: string) => void} chose
 */
export function wall(shown, chose) {
  let show = Object.hasOwn(shows, shown) ? shown : 'all';
  let redraw = () => {};
  let begun = false;
  const buttons = Object.entries(shows).map(([name, s]) => h('button', {
    class: 'button', type: 'button', 'aria-pressed': String(name === show), data: { show: name },
    on: {
      click: () => {
        show = name;
        for (const b of buttons) b.setAttribute('aria-pressed', String(b.dataset.show === name));
        chose(name);
        redraw();
      },
    },
  }, h('span', null, s.name), h('span', { class: 'segment-count muted' })));
  const hosts = h('div', { class: 'wall' });
  const empty = h('div', { class: 'empty', hidden: true });
  const node = h('section', { class: 'card wall-card', 'aria-labelledby': 'wall-title', 'aria-busy': 'true' },
    h('header', null, h('h2', { id: 'wall-title' }, 'Devices'), h('div', { class: 'segments', role: 'group', 'aria-label': 'Which devices' }, buttons)),
    hosts, empty);

  return {
    node,
    onChange(f) {
      redraw = f;
    },
    /** Shows devices of hosts, both as /v1/overview gives them. */
    show(devices, hostList) {
      const counts = Object.fromEntries(Object.keys(shows).map((name) => [name, 0]));
      const byHost = new Map(hostList.map((host) => [host.id, { host, all: 0, devices: [] }]));
      for (const d of devices) {
        const look = deviceLook(d);
        for (const [name, s] of Object.entries(shows)) if (s.test(look)) counts[name]++;
        const group = byHost.get(d.host_id);
        if (!group) continue;
        group.all++;
        if (shows[show].test(look)) group.devices.push(d);
      }
      for (const b of buttons) text(b.querySelector('.segment-count'), count(counts[b.dataset.show]));
      hosts.dataset.size = devices.length <= 60 ? 'large' : devices.length <= 240 ? 'medium' : 'small';
      const groups = [...byHost.values()].filter((g) => g.devices.length > 0 || (show === 'all' && g.host.state !== 'ready'));
      const small = hosts.dataset.size === 'small';
      let room = begun ? Infinity : atFirst;
      keyed(hosts, groups.map((g) => {
        const later = room <= 0;
        room -= g.devices.length;
        return { ...g, small, later };
      }), (g) => g.host.id, makeHost, fillHost);
      begun = true;
      if (room < 0) setTimeout(redraw);
      showEmpty(empty, devices.length, groups.length);
    },
  };
}

function showEmpty(empty, devices, groups) {
  empty.hidden = groups > 0;
  const which = devices === 0 ? 'none' : 'filtered';
  if (groups > 0 || empty.dataset.which === which) return;
  empty.dataset.which = which;
  if (devices > 0) replace(empty, h('p', null, 'No device is like that now.'));
  else {
    replace(empty, h('h3', null, 'There is no device yet'), h('p', null, 'Plug in a phone with USB debugging where an agent runs, try simulated ones, or enroll another machine:'),
      h('pre', null, 'phonebooth dev --sim 4\nphonebooth host enroll --name rack-1'));
  }
}

function makeHost(g) {
  const node = h('section', { class: 'host', 'aria-label': `Host ${g.host.name}` },
    h('h3', { class: 'host-head' }, h('a', { class: 'cut', href: `/devices?host_id=${encodeURIComponent(g.host.id)}` }, g.host.name),
      h('span', { class: 'host-state' }), h('span', { class: 'muted small host-count' })),
    h('ul', { class: 'tiles' }));
  fillHost(node, g);
  return node;
}

function fillHost(node, g) {
  const [head, tiles] = node.children;
  const state = head.querySelector('.host-state');
  if (state.dataset.state !== g.host.state) {
    state.dataset.state = g.host.state;
    replace(state, g.host.state !== 'ready' && badge(hostLook(g.host.state)));
  }
  text(head.querySelector('.host-count'), g.devices.length === g.all ? plural(g.all, 'device') : `${count(g.devices.length)} of ${plural(g.all, 'device')}`);
  if (g.later) return;
  const [make, fill] = g.small ? [makeSmall, fillSmall] : [makeTile, fillTile];
  keyed(tiles, g.devices, (d) => (g.small ? `small ${d.id}` : d.id), make, fill);
}

// Of a thousand devices each is a shape and a name; the rest is in its title and its label.
function makeSmall(d) {
  const node = h('li', { class: 'tile' }, h('span', { class: 'tile-shape' }), h('a', { class: 'tile-name cut', href: address('devices', d.id), data: { row: '' } }));
  fillSmall(node, d);
  return node;
}

function fillSmall(node, d) {
  if (node.shown === d) return;
  node.shown = d;
  const look = deviceLook(d);
  setLook(node, node.firstChild, look);
  setName(node, node.lastChild, d, wordOf(d, look));
}

function wordOf(d, look) {
  return d.run?.cancel_requested ? 'cancelling' : d.run?.state === 'assigned' ? 'assigned' : look.word;
}

function setLook(node, at, look) {
  if (node.dataset.look === `${look.tone} ${look.icon}`) return;
  node.dataset.look = `${look.tone} ${look.icon}`;
  node.dataset.tone = look.tone;
  at.replaceChildren(shape(look.icon));
}

function setName(node, link, d, word) {
  text(link, d.name || d.id);
  const says = [d.name, word, d.run?.brief || d.reason].filter(Boolean).join(' · ');
  set(node, 'title', says);
  set(link, 'aria-label', says);
}

function makeTile(d) {
  const node = h('li', { class: 'tile' },
    h('span', { class: 'tile-top' },
      h('a', { class: 'tile-name cut', href: address('devices', d.id), data: { row: '' } }, d.name || d.id),
      time(d.since, 'since')),
    h('span', { class: 'tile-does' }, h('span', { class: 'badge plain' }), h('a', { class: 'tile-task cut', hidden: true }), h('span', { class: 'tile-reason cut muted' })),
    h('span', { class: 'tile-foot small muted' }, h('span', null, d.driver_type), h('span', { class: 'tile-lease' }, 'lease ', time(undefined, 'left'))));
  fillTile(node, d);
  return node;
}

function fillTile(node, d) {
  if (node.shown === d) return;
  node.shown = d;
  const look = deviceLook(d);
  const { run } = d;
  const [top, does, foot] = node.children;
  const word = wordOf(d, look);
  if (node.dataset.tone !== look.tone) node.dataset.tone = look.tone;
  setName(node, top.children[0], d, word);
  setTime(top.children[1], d.since, 'since');
  setBadge(does.children[0], look, word);
  const task = does.children[1];
  task.hidden = !run;
  if (run) {
    task.href = address('tasks', run.task_id);
    text(task, run.brief || 'task');
  }
  text(does.children[2], run ? '' : d.reason ?? '');
  const lease = foot.children[1];
  lease.hidden = !run?.lease_expires_at;
  if (run?.lease_expires_at) setTime(lease.lastChild, run.lease_expires_at, 'left');
}
