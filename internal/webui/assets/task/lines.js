// The lines of a log, in memory: as runs of styled text, with the offset at which each begins, bounded to the newest so many.
// Nothing here touches the page.

import { Ansi, plainText } from './ansi.js';

export const maxLines = 60000;
const maxLine = 8000; // characters of one line that are kept

/** @typedef {{runs: import('./ansi.js').Run[]|string, attempt: number, offset: number, number: number, mark?: string, begins?: boolean}} Line
 * number: which line of its attempt's log, from 1; 0 for lines of ours; begins: of ours, where an attempt begins */

export class Lines {
  constructor(limit = maxLines) {
    this.limit = limit;
    /** @type {Line[]} */
    this.list = [];
    this.dropped = 0; // lines before the first
    this.begin(0);
  }

  /** Begins the log of an attempt. */
  begin(attempt) {
    this.ansi = new Ansi();
    this.decoder = new TextDecoder();
    this.attempt = attempt;
    this.offset = 0; // of the line that is open
    this.next = 0; // of the next byte
    this.hasOpen = false;
    this.count = 0; // of lines that ended
  }

  /** Adds a line of ours, between those of the log. */
  mark(text, begins = false) {
    this.close();
    this.list.push({ runs: text, attempt: this.attempt, offset: this.next, number: 0, mark: text, begins });
    this.trim();
  }

  /** Adds what was written from an offset on. */
  push(bytes, offset) {
    if (this.next === 0 && offset > 0) this.offset = offset;
    const begins = [];
    for (let i = bytes.indexOf(10); i >= 0; i = bytes.indexOf(10, i + 1)) begins.push(offset + i + 1);
    this.next = offset + bytes.length;
    const ended = this.ansi.push(this.decoder.decode(bytes, { stream: true }));
    if (this.hasOpen) this.list.pop();
    this.hasOpen = false;
    for (const [i, runs] of ended.entries()) {
      this.list.push({ runs: shortened(runs), attempt: this.attempt, offset: this.offset, number: ++this.count });
      this.offset = begins[i] ?? this.next;
    }
    if (this.ansi.open.length > 0) {
      this.list.push({ runs: shortened(this.ansi.open.map((run) => ({ ...run }))), attempt: this.attempt, offset: this.offset, number: this.count + 1 });
      this.hasOpen = true;
    }
    this.trim();
  }

  /** Says that bytes are missing from here on. */
  gap(bytes, offset) {
    this.close();
    this.next = offset + bytes;
    this.offset = this.next;
  }

  close() {
    if (this.hasOpen) this.count++;
    this.hasOpen = false;
    this.ansi = new Ansi();
  }

  trim() {
    const over = this.list.length - this.limit;
    if (over < this.limit / 10) return; // not for each line
    this.list.splice(0, over);
    this.dropped += over;
  }

  /** Where in the list the line is that holds an offset of an attempt; -1: nowhere. */
  at(attempt, offset) {
    let found = -1;
    for (const [i, line] of this.list.entries()) {
      if (line.attempt !== attempt || line.mark !== undefined) continue;
      if (line.offset > offset) break;
      found = i;
    }
    return found;
  }

  /**
   * Which lines hold a text, whatever its case.
   * @param {string} text
   * @returns {number[]}
   */
  search(text) {
    const wanted = text.toLowerCase();
    const found = [];
    if (wanted === '') return found;
    for (const [i, line] of this.list.entries()) if (textOf(line).toLowerCase().includes(wanted)) found.push(i);
    return found;
  }
}

/** The text of a line. */
export function textOf(line) {
  return typeof line.runs === 'string' ? line.runs : plainText(line.runs);
}

// A line as it is kept: plain text alone where nothing is styled, and not without end.
function shortened(runs) {
  if (runs.length === 0) return '';
  const [r] = runs;
  if (runs.length === 1 && r.text.length <= maxLine && !(r.fg || r.bg || r.bold || r.dim || r.italic || r.underline || r.strike)) return r.text;
  let room = maxLine;
  const kept = [];
  for (const run of runs) {
    if (room <= 0) break;
    kept.push(run.text.length > room ? { ...run, text: `${run.text.slice(0, room)} …` } : run);
    room -= run.text.length;
  }
  return kept;
}

/**
 * Cuts runs where a search finds something, so that it can be marked.
 * @param {import('./ansi.js').Run[]|string} runs
 * @param {string} wanted
 * @returns {{run: any, text: string, found: boolean}[]}
 */
export function pieces(runs, wanted) {
  const list = typeof runs === 'string' ? [{ text: runs }] : runs;
  if (!wanted) return list.map((run) => ({ run, text: run.text, found: false }));
  const all = plainText(list).toLowerCase();
  const needle = wanted.toLowerCase();
  const hits = [];
  for (let i = all.indexOf(needle); i >= 0; i = all.indexOf(needle, i + needle.length)) hits.push([i, i + needle.length]);
  const out = [];
  let at = 0;
  for (const run of list) {
    const end = at + run.text.length;
    let from = at;
    for (const [a, b] of hits) {
      if (b <= from || a >= end) continue;
      if (a > from) out.push({ run, text: run.text.slice(from - at, a - at), found: false });
      out.push({ run, text: run.text.slice(Math.max(a, from) - at, Math.min(b, end) - at), found: true });
      from = Math.min(b, end);
    }
    if (from < end) out.push({ run, text: run.text.slice(from - at), found: false });
    at = end;
  }
  return out;
}
