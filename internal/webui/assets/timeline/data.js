// What is known of rows: read from the server for the devices and the span on the screen, kept while it is good enough, and
// read again when the record says that something happened.

import { withQuery } from '../api.js';
import { millis } from '../format.js';
import { asked, covers } from './scale.js';

const atOnce = 50; // devices of one question
const columns = 600;
const pause = 2000; // after a question that had no answer

// For how long a row is good although something has happened: a thousandth of the width is no more than a pixel or two.
const patience = (span) => Math.min(15000, Math.max(900, (span.to - span.from) / 1000));

export class Rows {
  /** @param {{api: any, signal: AbortSignal, loaded: () => void, failed: (err: Error|null) => void}} how */
  constructor({ api, signal, loaded, failed }) {
    this.api = api;
    this.signal = signal;
    this.loaded = loaded;
    this.failed = failed;
    /** @type {Map<string, {row: any, had: {from: number, to: number}, old: boolean, at: number}>} */
    this.known = new Map();
    this.notBefore = 0; // of the next question
    this.skew = 0; // of the store's clock against ours
  }

  /** Now, by the clock that the rows' times are of. */
  now() {
    return Date.now() + this.skew;
  }

  /** The row of a device as far as it is known. */
  of(id) {
    return this.known.get(id)?.row;
  }

  /** Notes that what is known of these devices is not the newest any more; of all when none are given. */
  age(ids) {
    for (const id of ids ?? this.known.keys()) {
      const k = this.known.get(id);
      if (k) k.old = true;
    }
  }

  /**
   * Reads what is missing of these devices.
   * @param {string[]} ids in the order of the screen
   * @param {{from: number, to: number}} span
   */
  async read(ids, span) {
    const wanted = ids.filter((id) => {
      const k = this.known.get(id);
      return !k || !covers(k.had, span) || (k.old && performance.now() - k.at > patience(span));
    });
    if (wanted.length === 0 || performance.now() < this.notBefore) return;
    const had = asked(span);
    try {
      for (let i = 0; i < wanted.length; i += atOnce) {
        const some = wanted.slice(i, i + atOnce);
        for (const id of some) if (this.known.has(id)) this.known.get(id).old = false; // what happens from here on ages it anew
        const line = await this.api.get(withQuery('/v1/timeline', {
          from: new Date(had.from).toISOString(), to: new Date(had.to).toISOString(), device_id: some, columns,
        }), { signal: this.signal });
        this.take(line, had, some);
      }
      this.failed(null);
    } catch (err) {
      for (const id of wanted) if (this.known.has(id)) this.known.get(id).old = true;
      this.notBefore = performance.now() + pause;
      if (!this.signal.aborted) this.failed(err);
    }
  }

  take(line, had, ids) {
    const skew = millis(line.now) - Date.now();
    if (Math.abs(skew - this.skew) > 1500) this.skew = skew;
    const found = new Map(line.rows.map((r) => [r.device_id, r]));
    for (const id of ids) {
      const row = found.get(id) ?? { device_id: id, bars: [], stretches: [] }; // it has left the pool
      this.known.set(id, { row, had, old: this.known.get(id)?.old ?? false, at: performance.now() });
    }
    this.loaded();
  }
}
