// Spans of time: how they are zoomed, moved, divided by ticks and written into an address. Nothing here touches the page.
//
// A span is {from, to, follow}, in milliseconds; one that follows ends a little ahead of now and moves with it.

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

export const shortest = 30 * second;
export const longest = 7 * day;

/** Widths that can be chosen, with their names in addresses. */
export const widths = { '5m': 5 * minute, '15m': 15 * minute, '1h': hour, '6h': 6 * hour, '1d': day, '7d': 7 * day };

const usual = '15m';

// A span that follows shows a little of what is to come, so that the line of now has room beside it.
const ahead = 0.04;

/** A width within what is allowed. */
export function clampWidth(ms) {
  return Math.min(longest, Math.max(shortest, ms));
}

/** The span of a width that follows now. */
export function following(width, now) {
  const to = now + width * ahead;
  return { from: to - width, to, follow: true };
}

/**
 * A span that is zoomed by a factor; below 1 is closer. The time at the anchor, a share of the width, stays where it is; a
 * span that follows goes on following.
 */
export function zoom(span, factor, anchor, now) {
  const width = clampWidth((span.to - span.from) * factor);
  if (span.follow) return following(width, now);
  const at = span.from + (span.to - span.from) * anchor;
  const from = at - width * anchor;
  return settle({ from, to: from + width, follow: false }, now);
}

/** A span that is moved by milliseconds; it does not follow any more, unless it comes to now. */
export function pan(span, by, now) {
  return settle({ from: span.from + by, to: span.to + by, follow: false }, now);
}

// There is nothing to see beyond now: a span that would show more than its share of it follows instead.
function settle(span, now) {
  const width = span.to - span.from;
  return span.to > now + width * ahead ? following(width, now) : span;
}

/**
 * The span of an address's query: `span` (such as 1h or 90s), or `from` and `to`, RFC 3339. What makes no sense is the usual
 * one.
 */
export function spanOf(query, now) {
  const from = Date.parse(query.from ?? '');
  const to = Date.parse(query.to ?? '');
  if (to > from) {
    const width = clampWidth(to - from);
    return { from: to - width, to, follow: false };
  }
  return following(clampWidth(widthOf(query.span) ?? widths[usual]), now);
}

/** What a span adds to an address's query. The usual one adds nothing. */
export function queryOf(span) {
  if (!span.follow) {
    return { span: '', from: new Date(Math.round(span.from)).toISOString(), to: new Date(Math.round(span.to)).toISOString() };
  }
  const name = nameOf(span.to - span.from);
  return { span: name === usual ? '' : name, from: '', to: '' };
}

const units = { s: second, m: minute, h: hour, d: day };

function widthOf(name) {
  const found = /^(\d{1,6})([smhd])$/.exec(name ?? '');
  return found ? Number(found[1]) * units[found[2]] : undefined;
}

function nameOf(width) {
  for (const unit of ['d', 'h', 'm']) {
    const n = width / units[unit];
    if (Math.abs(n - Math.round(n)) < 1e-6) return `${Math.round(n)}${unit}`;
  }
  return `${Math.round(width / second)}s`;
}

/** A width for people: "1 h", "15 min". */
export function widthName(width) {
  const name = nameOf(width);
  return name.replace(/m$/, ' min').replace(/([shd])$/, ' $1');
}

const steps = [
  second, 2 * second, 5 * second, 10 * second, 15 * second, 30 * second, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute,
  hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day,
];

/**
 * The times at which a span is ticked, at most so many, at round local times. Each says whether a day begins with it.
 * @param {{from: number, to: number}} span
 * @param {number} most
 * @param {number} [offset] of local time from UTC, in minutes, as Date's getTimezoneOffset gives it
 */
export function ticks(span, most, offset = new Date(span.from).getTimezoneOffset()) {
  const step = steps.find((s) => (span.to - span.from) / s <= most) ?? steps.at(-1);
  const shift = offset * minute; // local = UTC - shift
  const out = [];
  for (let local = Math.ceil((span.from - shift) / step) * step; local + shift <= span.to; local += step) {
    out.push({ at: local + shift, day: local % day === 0, step });
  }
  return out;
}

/** Where a time is on a scale of so many pixels. */
export function position(span, at, pixels) {
  return ((at - span.from) / (span.to - span.from)) * pixels;
}

/** What to ask the server for, so that a little moving needs no other question: half a width more on either side. */
export function asked(span) {
  const half = (span.to - span.from) / 2;
  return { from: span.from - half, to: span.to + half };
}

/** Whether what was asked for `had` is good enough to show `span`: it covers it, and is neither too coarse nor far too fine. */
export function covers(had, span) {
  const zoomed = (had.to - had.from) / (2 * (span.to - span.from));
  return had.from <= span.from && had.to >= span.to && zoomed < 1.6 && zoomed > 0.3;
}
