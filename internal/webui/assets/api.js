// Calls the HTTP API of the server that the page came from. The browser sends the sign-in's cookie by itself.

import { observeServerTime } from './format.js';

/** A refusal: an RFC 9457 problem of the server, or one made here when no answer came. */
export class Problem extends Error {
  constructor({ status = 0, code = 'unreachable', title = '', detail = '', extra = {}, retryAfter = 0 } = {}) {
    super(detail || title || code);
    this.name = 'Problem';
    this.status = status; // 0: no answer
    this.code = code;
    this.title = title;
    this.detail = detail; // a sentence for people
    this.extra = extra;
    this.retryAfter = retryAfter; // in seconds, 0: not said
  }
}

let unauthenticated = () => {};

/** Says what to do when the server wants a sign-in. */
export function onUnauthenticated(f) {
  unauthenticated = f;
}

/** To be called by others who got a 401. */
export function askForSignIn() {
  unauthenticated();
}

/**
 * Reads JSON.
 * @param {string} path with its query
 * @param {{signal?: AbortSignal}} [options]
 */
export function get(path, { signal } = {}) {
  return ask('GET', path, undefined, { signal });
}

/**
 * Does something. A body of undefined is none.
 * @param {string} path
 * @param {any} [body] becomes JSON
 * @param {{headers?: Object<string, string>, signal?: AbortSignal}} [options]
 */
export function post(path, body, options = {}) {
  return ask('POST', path, body, options);
}

/** As post, with PUT. */
export function put(path, body, options = {}) {
  return ask('PUT', path, body, options);
}

/** As post, with DELETE. */
export function remove(path, options = {}) {
  return ask('DELETE', path, undefined, options);
}

async function ask(method, path, body, { headers = {}, signal } = {}) {
  const wanted = { Accept: 'application/json', ...headers };
  if (body !== undefined) wanted['Content-Type'] = 'application/json';
  let answer;
  let text;
  try {
    answer = await fetch(path, {
      method,
      signal,
      headers: wanted,
      credentials: 'same-origin',
      redirect: 'error',
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    text = await answer.text();
  } catch (err) {
    if (signal?.aborted || err.name === 'AbortError') throw err;
    throw new Problem({ title: 'Not connected', detail: 'The server does not answer.' });
  }
  observeServerTime(answer.headers.get('Date'));
  if (answer.ok) return text === '' ? null : JSON.parse(text);
  const problem = problemOf(answer, text);
  if (problem.status === 401 && path !== '/sign-in') askForSignIn();
  throw problem;
}

/**
 * The problem that an answer holds.
 * @param {Response} answer
 * @param {string} text its body
 */
export function problemOf(answer, text) {
  let p = {};
  try {
    p = JSON.parse(text);
  } catch {
    // something between the server and the browser has answered
  }
  return new Problem({
    status: answer.status,
    code: p.code ?? 'unknown',
    title: p.title ?? answer.statusText,
    detail: p.detail ?? `The server answered ${answer.status}.`,
    extra: p.extra ?? {},
    retryAfter: Number(answer.headers.get('Retry-After')) || 0,
  });
}

/**
 * A path with a query: entries that are empty are left out, lists are repeated.
 * @param {string} path
 * @param {Object<string, any>} query
 */
export function withQuery(path, query) {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const v of Array.isArray(value) ? value : [value]) {
      if (v !== undefined && v !== null && v !== '' && v !== false) q.append(name, v);
    }
  }
  const text = q.toString();
  return text ? `${path}?${text}` : path;
}
