// How times, durations, sizes and ids are written, and <time> elements that keep themselves fresh.

import { h } from './dom.js';

let skew = 0; // of the server's clock against ours, in milliseconds

/** Learns from an answer's Date header how far the two clocks are apart. It has whole seconds: less than two are none. */
export function observeServerTime(header) {
  const at = Date.parse(header ?? '');
  if (Number.isNaN(at)) return;
  const apart = at + 500 - Date.now();
  skew = Math.abs(apart) > 2000 ? apart : 0;
}

/** Now, by the server's clock, in milliseconds. */
export function now() {
  return Date.now() + skew;
}

/** Milliseconds of a time: an RFC 3339 text, a Date, or milliseconds already. NaN when there is none. */
export function millis(t) {
  if (typeof t === 'number') return t;
  if (t instanceof Date) return t.getTime();
  return t ? Date.parse(t) : NaN;
}

const steps = [
  [86400000, 'd', 3600000, 'h'],
  [3600000, 'h', 60000, 'min'],
  [60000, 'min', 1000, 's'],
];

/** A duration in at most two units: "840 ms", "3.2 s", "42 s", "1 min 05 s", "2 h 07 min", "3 d 4 h". */
export function duration(ms) {
  if (!Number.isFinite(ms)) return '–';
  if (ms < 0) return `−${duration(-ms)}`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 59500) return `${Math.round(ms / 1000)} s`;
  for (const [large, name, small, smallName] of steps) {
    const whole = Math.round(ms / small) * small;
    if (whole < large) continue;
    const rest = Math.round((whole % large) / small);
    if (rest === 0) return `${Math.floor(whole / large)} ${name}`;
    const padded = name === 'd' ? rest : String(rest).padStart(2, '0');
    return `${Math.floor(whole / large)} ${name} ${padded} ${smallName}`;
  }
  return '1 min';
}

/** A duration in one whole unit, for what changes every second: "42 s", "7 min", "3 h", "2 d". */
export function roughly(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 172800) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} d`;
}

/** How long ago a time is: "now", "12 s ago", "3 min ago"; for one ahead "in 5 s". */
export function ago(t) {
  const ms = now() - millis(t);
  if (Number.isNaN(ms)) return '–';
  if (ms < -1500) return `in ${roughly(-ms)}`;
  return ms < 1000 ? 'now' : `${roughly(ms)} ago`;
}

/** For how long something has been so: "12 s". */
export function since(t) {
  const ms = now() - millis(t);
  return Number.isNaN(ms) ? '–' : roughly(ms);
}

/** How long it is until a time: "12 s left"; "due" behind it. */
export function left(t) {
  const ms = millis(t) - now();
  if (Number.isNaN(ms)) return '–';
  return ms <= 0 ? 'due' : `${roughly(ms + 999)} left`;
}

const sameDay = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });
const otherDay = new Intl.DateTimeFormat(undefined, {
  month: 'short', day: '2-digit', hour: '2-digit', minute: '2-digit', hour12: false,
});
const whole = new Intl.DateTimeFormat(undefined, {
  year: 'numeric', month: 'short', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false,
  timeZoneName: 'short',
});

/** A time of day of today; with the date when it is another day. */
export function clock(t) {
  const ms = millis(t);
  if (Number.isNaN(ms)) return '–';
  const at = new Date(ms);
  return at.toDateString() === new Date(now()).toDateString() ? sameDay.format(at) : otherDay.format(at);
}

/** A time in full. */
export function fullTime(t) {
  const ms = millis(t);
  return Number.isNaN(ms) ? '–' : whole.format(ms);
}

/** A size: "812 B", "3.4 KiB", "12 MiB". */
export function bytes(n) {
  if (!Number.isFinite(n)) return '–';
  let unit = 0;
  let v = n;
  while (v >= 1024 && unit < 4) {
    v /= 1024;
    unit++;
  }
  const digits = unit === 0 || v >= 100 ? 0 : 1;
  return `${v.toFixed(digits).replace(/\.0$/, '')} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][unit]}`;
}

/** A number with separators. */
export function count(n) {
  return Number.isFinite(n) ? n.toLocaleString('en-US').replaceAll(',', '\u202f') : '–';
}

/** "1 device", "3 devices". */
export function plural(n, one, many = `${one}s`) {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** An id for people: its kind and the end that tells it from others. */
export function short(id) {
  const s = String(id ?? '');
  const cut = s.indexOf('_');
  if (s.length <= 14) return s;
  return cut > 0 && cut < 8 ? `${s.slice(0, cut)}…${s.slice(-6)}` : `…${s.slice(-8)}`;
}

/** Text for one line: the first line that says something, cut to so many characters. */
export function oneLine(s, limit = 160) {
  const line = String(s ?? '').split(/[\r\n]+/).find((l) => l.trim() !== '') ?? '';
  const t = line.trim();
  const points = [...t.slice(0, limit * 2)];
  return points.length > limit ? `${points.slice(0, limit - 1).join('')}…` : t;
}

const ways = { ago, since, left, clock };

/**
 * A <time> element that keeps itself fresh, with the full time as its title.
 * @param {string|number|Date|undefined} t
 * @param {'ago'|'since'|'left'|'clock'} way
 */
export function time(t, way = 'ago') {
  const node = h('time', { class: 'time' });
  setTime(node, t, way);
  return node;
}

/** Gives a <time> element of [time] another time. */
export function setTime(node, t, way = node.dataset.way ?? 'ago') {
  const ms = millis(t);
  if (Number.isNaN(ms)) {
    node.textContent = '–';
    node.removeAttribute('datetime');
    node.removeAttribute('title');
    delete node.dataset.way;
    return;
  }
  node.setAttribute('datetime', new Date(ms).toISOString());
  node.title = fullTime(ms);
  node.dataset.way = way;
  const text = ways[way](ms);
  if (node.textContent !== text) node.textContent = text;
}

/** Keeps every <time> element of the page fresh; called once. */
export function keepTimesFresh() {
  setInterval(() => {
    if (document.hidden) return;
    for (const node of document.querySelectorAll('time[data-way]')) {
      const text = ways[node.dataset.way](node.getAttribute('datetime'));
      if (node.textContent !== text) node.textContent = text;
    }
  }, 1000);
}
