// The record of events, followed: one stream for the page, read with fetch, because an EventSource tells neither a refusal
// nor a heartbeat. It comes back by itself where it broke off.
//
// Events come as the API gives them: {pos, at, kind, task_id, ...}. One more kind is made here: "reset" says that events may
// have been missed, so what was read before may be old. Views read again at both, at a pace of their own.
//
// A page that is hidden for a while lets go of its connection: a browser has only six to one server.

import { askForSignIn, problemOf } from './api.js';

const quiet = 40000; // without a byte, heartbeats come every 15 s: the connection is dead
const hiddenFor = 20000;

/** @typedef {'connecting'|'connected'|'lost'|'paused'} State */

class Live {
  constructor() {
    /** @type {Set<(event: any) => void>} */
    this.readers = new Set();
    /** @type {Set<(state: State) => void>} */
    this.watchers = new Set();
    /** @type {State} */
    this.state = 'connecting';
    this.position = null; // of the newest event that was seen
    this.failures = 0;
    this.stop = null; // ends the stream that runs
    this.wake = null; // ends a pause between two tries
    this.wanted = false;
  }

  /** Whether events arrive at this moment. */
  get connected() {
    return this.state === 'connected';
  }

  /**
   * Calls f with every event from now on.
   * @param {(event: any) => void} f
   * @returns {() => void} ends it
   */
  on(f) {
    this.readers.add(f);
    return () => this.readers.delete(f);
  }

  /**
   * Calls f now and whenever the state changes.
   * @param {(state: State) => void} f
   * @returns {() => void} ends it
   */
  onState(f) {
    this.watchers.add(f);
    f(this.state);
    return () => this.watchers.delete(f);
  }

  /** Begins to follow; does nothing when it does already. */
  start() {
    if (this.wanted) return;
    this.wanted = true;
    this.follow();
  }

  /** Ends following, until [start]. */
  end() {
    this.wanted = false;
    this.stop?.abort();
    this.wake?.();
  }

  /** Tries again at once instead of waiting. */
  hurry() {
    this.wake?.();
  }

  /** Resolves when the stream is there or cannot be had, after so many milliseconds at the latest. */
  settled(patience) {
    return new Promise((done) => {
      const timer = setTimeout(done, patience);
      const off = this.onState((state) => {
        if (state === 'connecting') return;
        clearTimeout(timer);
        queueMicrotask(() => off());
        done();
      });
    });
  }

  become(state) {
    if (state === this.state) return;
    this.state = state;
    for (const f of this.watchers) f(state);
  }

  tell(event) {
    for (const f of [...this.readers]) {
      try {
        f(event);
      } catch (err) {
        console.error(err);
      }
    }
  }

  async follow() {
    if (this.running) return;
    this.running = true;
    watchVisibility(this);
    while (this.wanted) {
      if (document.hidden && this.hiddenLong) {
        this.become('paused');
        await new Promise((done) => (this.wake = done));
        continue;
      }
      const began = performance.now();
      try {
        await this.once();
        this.failures = 0; // the server has ended it: it stops, or dropped us
      } catch (err) {
        if (err?.status === 401) {
          this.wanted = false;
          askForSignIn();
        }
        this.failures = performance.now() - began > 10000 ? 0 : this.failures + 1;
      }
      if (!this.wanted) break;
      if (document.hidden && this.hiddenLong) continue;
      this.become('lost');
      const pause = Math.min(5000, 250 * 2 ** this.failures) * (0.5 + Math.random() / 2);
      await new Promise((done) => {
        this.wake = done;
        setTimeout(done, pause);
      });
    }
    this.running = false;
    if (this.wanted) this.follow(); // started again meanwhile
  }

  // Reads one stream to its end.
  async once() {
    const stop = new AbortController();
    this.stop = stop;
    let watchdog = 0;
    const alive = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => stop.abort(), quiet);
    };
    alive();
    try {
      const headers = { Accept: 'text/event-stream' };
      const fresh = !this.position; // of 0 nothing can be resumed
      if (!fresh) headers['Last-Event-ID'] = String(this.position);
      const answer = await fetch('/v1/events', { headers, signal: stop.signal, cache: 'no-store', credentials: 'same-origin' });
      if (!answer.ok) {
        const problem = problemOf(answer, await answer.text());
        if (problem.status === 409 || problem.status === 410) this.position = null; // another record than the one we knew
        throw problem;
      }
      const late = this.state !== 'connecting';
      this.become('connected');
      if (fresh && late) this.tell({ kind: 'reset' });
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      const parse = parser((id, kind, data) => this.take(id, kind, data));
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        alive();
        parse(value);
      }
    } finally {
      clearTimeout(watchdog);
      stop.abort();
    }
  }

  take(id, kind, data) {
    if (id !== null && /^\d+$/.test(id)) this.position = Number(id);
    if (data === null) return;
    let value;
    try {
      value = JSON.parse(data);
    } catch {
      return;
    }
    if (kind === 'pruned') this.tell({ kind: 'reset' });
    else if (value && typeof value.kind === 'string') this.tell(value);
  }
}

/**
 * Reads server-sent events out of pieces of text.
 * @param {(id: string|null, kind: string, data: string|null) => void} take of each event; data is null when only the id came
 */
export function parser(take) {
  let rest = '';
  let id = null;
  let kind = '';
  let data = null;
  const line = (s) => {
    if (s === '') {
      if (id !== null || data !== null) take(id, kind, data);
      id = null;
      kind = '';
      data = null;
      return;
    }
    const colon = s.indexOf(':');
    const field = colon < 0 ? s : s.slice(0, colon);
    let value = colon < 0 ? '' : s.slice(colon + 1);
    if (value.startsWith(' ')) value = value.slice(1);
    if (field === 'id') id = value;
    else if (field === 'event') kind = value;
    else if (field === 'data') data = data === null ? value : `${data}\n${value}`;
  };
  return (piece) => {
    rest += piece;
    const lines = rest.split('\n');
    rest = lines.pop();
    for (const l of lines) line(l.endsWith('\r') ? l.slice(0, -1) : l);
  };
}

function watchVisibility(live) {
  if (live.watching) return;
  live.watching = true;
  let timer = 0;
  document.addEventListener('visibilitychange', () => {
    clearTimeout(timer);
    if (!document.hidden) {
      live.hiddenLong = false;
      live.wake?.();
      return;
    }
    timer = setTimeout(() => {
      live.hiddenLong = true;
      live.stop?.abort();
    }, hiddenFor);
  });
  // A page that was left is kept by some browsers for a while, and must not keep a connection from the next.
  addEventListener('pagehide', () => {
    live.hiddenLong = true;
    live.stop?.abort();
  });
  addEventListener('pageshow', () => {
    live.hiddenLong = false;
    live.wake?.();
  });
  addEventListener('online', () => live.wake?.());
}

/** The page's one stream. */
export const live = new Live();
