// Names of devices and hosts by their ids, for views whose answers hold ids alone. Read when first wanted, and again for an
// id that is not known, but not over and over.

import * as api from './api.js';
import { h, text } from './dom.js';
import { short } from './format.js';
import { address } from './router.js';

let devices = new Map();
let hosts = new Map();
let reading = null;
let readAt = -Infinity;

function read() {
  if (reading || performance.now() - readAt < 5000) return reading ?? Promise.resolve();
  readAt = performance.now();
  reading = api.get('/v1/overview').then((o) => {
    devices = new Map(o.devices.map((d) => [d.id, d.name]));
    hosts = new Map(o.hosts.map((host) => [host.id, host.name]));
  }, () => {}).finally(() => {
    reading = null;
  });
  return reading;
}

function link(map, kind, id) {
  if (!id) return null;
  const node = h('a', { class: 'cut', href: kind === 'hosts' ? `/devices?host_id=${encodeURIComponent(id)}` : address(kind, id), title: id }, map().get(id) ?? short(id));
  if (!map().has(id)) read().then(() => text(node, map().get(id) ?? short(id)));
  return node;
}

/** A link to a device, by its name. */
export function deviceLink(id) {
  return link(() => devices, 'devices', id);
}

/** A link to a host, by its name. */
export function hostLink(id) {
  return link(() => hosts, 'hosts', id);
}

/** Hosts as [id, name], for a choice. */
export async function hostChoices() {
  const { hosts: all } = await api.get('/v1/hosts');
  return all.map((host) => [host.id, host.name]);
}
