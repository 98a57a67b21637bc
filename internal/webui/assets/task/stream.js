// A log as it is written: server-sent events over fetch, taken up where they broke off until the end.

import { askForSignIn, problemOf, withQuery } from '../api.js';
import { parser } from '../live.js';

const hiddenFor = 5000; // then a page that nobody sees lets go of its connection: a browser has only six to one server
const quiet = 40000; // without a byte, heartbeats come every 15 s: the connection is dead

/**
 * @param {{task: string, attempt?: number, name?: string, signal: AbortSignal,
 *   take: (kind: 'attempt'|'log'|'gap'|'closed'|'end', message: any) => void, state: (s: 'connecting'|'connected'|'lost'|'ended'|'refused', err?: Error) => void}} how
 *   attempt 0: the first one and each that follows. A log's data comes as bytes. Resolves at the end.
 */
export async function followLog({ task, attempt = 0, name = 'runner', signal, take, state }) {
  const path = withQuery(`/v1/tasks/${encodeURIComponent(task)}/log`, { attempt: attempt || '', name, follow: 'true' });
  let position = `${attempt || 1}:0`;
  let failures = 0;
  state('connecting');
  const unseen = absence(signal);
  while (!signal.aborted) {
    await unseen.over();
    if (signal.aborted) return;
    const stop = new AbortController();
    unseen.leave = () => stop.abort();
    let watchdog = 0;
    const alive = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => stop.abort(), quiet);
    };
    try {
      alive();
      const answer = await fetch(path, {
        headers: { Accept: 'text/event-stream', 'Last-Event-ID': position }, signal: AbortSignal.any([signal, stop.signal]), cache: 'no-store', credentials: 'same-origin',
      });
      if (!answer.ok) throw problemOf(answer, await answer.text());
      state('connected');
      failures = 0;
      let ended = false;
      const parse = parser((id, kind, data) => {
        if (id) position = id;
        if (data === null || ended) return;
        const message = JSON.parse(data);
        if (kind === 'log') message.bytes = bytesOf(message.data);
        ended = kind === 'end' || (kind === 'closed' && attempt !== 0);
        take(kind, message);
      });
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        alive();
        parse(value);
      }
      if (ended) {
        state('ended');
        return;
      }
    } catch (err) {
      if (signal.aborted) return;
      if (err.status === 401) {
        askForSignIn();
        return;
      }
      if (err.status >= 400 && err.status < 500 && err.status !== 429) {
        state('refused', err);
        return;
      }
      failures++;
    } finally {
      clearTimeout(watchdog);
      stop.abort();
    }
    if (signal.aborted) return;
    if (unseen.now) continue;
    state('lost');
    await new Promise((done) => setTimeout(done, Math.min(5000, 200 * 2 ** failures) * (0.5 + Math.random() / 2)));
  }
}

// Tells when nobody sees the page: it is hidden for a while, or was left and is kept by the browser.
function absence(signal) {
  const a = { now: false, leave: () => {}, back: () => {}, over: () => (a.now ? new Promise((done) => (a.back = done)) : undefined) };
  let timer = 0;
  const go = () => {
    a.now = true;
    a.leave();
  };
  const come = () => {
    clearTimeout(timer);
    a.now = false;
    a.back();
  };
  document.addEventListener('visibilitychange', () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(go, hiddenFor);
    else come();
  }, { signal });
  addEventListener('pagehide', go, { signal });
  addEventListener('pageshow', come, { signal });
  signal.addEventListener('abort', come);
  return a;
}

function bytesOf(base64) {
  const text = atob(base64 ?? '');
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}
