// All devices of the pool, however many pages they fill.

import { withQuery } from '../api.js';

const page = 1000;

/**
 * @param {any} api
 * @param {AbortSignal} signal
 * @returns {Promise<any[]>}
 */
export async function everyDevice(api, signal) {
  const all = [];
  let cursor;
  do {
    const got = await api.get(withQuery('/v1/devices', { cursor, limit: page }), { signal });
    all.push(...got.devices);
    cursor = got.next;
  } while (cursor);
  return all;
}
