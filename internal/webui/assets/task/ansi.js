// Turns what a program wrote to a terminal into runs of plain text with a style each. Colours and weights (SGR) are
// understood; every other escape sequence is dropped, whatever it would do, and so are control characters. A carriage return
// begins the line anew, as a progress bar means it.
//
// The result is text for text nodes and names for classes: nothing in it can become markup.

/**
 * @typedef {{text: string, fg: string, bg: string, bold: boolean, dim: boolean, italic: boolean, underline: boolean, strike: boolean}} Run
 * A colour is "", a palette name "c0" to "c15", or "#rrggbb".
 */

const plain = Object.freeze({ fg: '', bg: '', bold: false, dim: false, italic: false, underline: false, strike: false, inverse: false });

// An escape sequence: CSI, one with a string (OSC, DCS, SOS, PM, APC), or a short one; and what C1 makes of them.
// eslint-disable-next-line no-control-regex
const sequence = /(?:\x1b\[|\x9b)([0-?]*)([ -/]*)([@-~])|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-~]/g;
// The beginning of one, at the end of a piece.
// eslint-disable-next-line no-control-regex
const unfinished = /(?:\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b\x9c]{0,4096}\x1b?|[ -/]*)|\x9b[0-?]*[ -/]*|[\x90\x98\x9d-\x9f][^\x07\x1b\x9c]{0,4096})$/;
// Control characters but tab, and the marks that turn the direction of what follows them.
// eslint-disable-next-line no-control-regex
const control = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Reads a stream of text, piece by piece, into lines. */
export class Ansi {
  constructor() {
    this.ground = { ...plain };
    this.style = this.ground;
    /** @type {Map<object, Map<string, object>>} what sequences made of styles: programs write the same few over and over */
    this.made = new Map();
    this.rest = '';
    this.reset();
  }

  reset() {
    /** @type {Run[]} */
    this.runs = [];
    this.returned = false;
  }

  /**
   * Takes a piece and gives the lines that it ended. The one that is not ended yet is in [open].
   * @param {string} piece
   * @returns {Run[][]}
   */
  push(piece) {
    let s = this.rest + piece;
    const tail = unfinished.exec(s);
    this.rest = tail ? tail[0] : '';
    if (tail) s = s.slice(0, tail.index);
    const lines = [];
    let at = 0;
    sequence.lastIndex = 0;
    for (let m = sequence.exec(s); m; m = sequence.exec(s)) {
      this.text(s.slice(at, m.index), lines);
      at = m.index + m[0].length;
      if (m[3] === 'm' && m[2] === '') this.style = this.after(m[1]);
    }
    this.text(s.slice(at), lines);
    return lines;
  }

  // The style after one SGR sequence.
  after(parameters) {
    let next = this.made.get(this.style);
    if (!next) {
      if (this.made.size > 200) this.made.clear();
      this.made.set(this.style, (next = new Map()));
    }
    let style = next.get(parameters);
    if (!style) {
      if (next.size > 200) next.clear();
      next.set(parameters, (style = parameters === '' || parameters === '0' ? this.ground : styled(this.style, parameters)));
    }
    return style;
  }

  /** The line that has not ended. */
  get open() {
    return this.runs;
  }

  text(s, lines) {
    let from = 0;
    for (let i = 0; i < s.length; i++) {
      const c = s.charCodeAt(i);
      if (c !== 10 && c !== 13) continue;
      this.add(s.slice(from, i));
      from = i + 1;
      if (c === 13) {
        this.returned = true;
        continue;
      }
      lines.push(this.runs);
      this.reset();
    }
    this.add(s.slice(from));
  }

  add(s) {
    const text = s.replace(control, '');
    if (text === '') return;
    if (this.returned) this.reset();
    const { fg, bg, bold, dim, italic, underline, strike, inverse } = this.style;
    const run = { text, fg: inverse ? bg || 'bg' : fg, bg: inverse ? fg || 'fg' : bg, bold, dim, italic, underline, strike };
    const last = this.runs.at(-1);
    if (last && same(last, run)) last.text += text;
    else this.runs.push(run);
  }
}

function same(a, b) {
  return a.fg === b.fg && a.bg === b.bg && a.bold === b.bold && a.dim === b.dim && a.italic === b.italic && a.underline === b.underline && a.strike === b.strike;
}

// styled is a style after the parameters of one SGR sequence.
function styled(style, parameters) {
  const codes = parameters.replaceAll(':', ';').split(';').map(Number);
  let s = { ...style };
  for (let i = 0; i < codes.length; i++) {
    const n = codes[i];
    if (n === 0) s = { ...plain };
    else if (n === 1) s.bold = true;
    else if (n === 2) s.dim = true;
    else if (n === 3) s.italic = true;
    else if (n === 4) s.underline = true;
    else if (n === 7) s.inverse = true;
    else if (n === 9) s.strike = true;
    else if (n === 22) s.bold = s.dim = false;
    else if (n === 23) s.italic = false;
    else if (n === 24) s.underline = false;
    else if (n === 27) s.inverse = false;
    else if (n === 29) s.strike = false;
    else if (n >= 30 && n <= 37) s.fg = `c${n - 30}`;
    else if (n >= 90 && n <= 97) s.fg = `c${n - 82}`;
    else if (n === 39) s.fg = '';
    else if (n >= 40 && n <= 47) s.bg = `c${n - 40}`;
    else if (n >= 100 && n <= 107) s.bg = `c${n - 92}`;
    else if (n === 49) s.bg = '';
    else if (n === 38 || n === 48) {
      const [colour, used] = extended(codes, i + 1);
      if (colour !== null) s[n === 38 ? 'fg' : 'bg'] = colour;
      i += used;
    }
  }
  return s;
}

// extended is the colour of "5;n" or "2;r;g;b", and how many codes it took.
function extended(codes, at) {
  const byte = (n) => Number.isInteger(n) && n >= 0 && n <= 255;
  if (codes[at] === 5) {
    const n = codes[at + 1];
    return [byte(n) ? indexed(n) : null, 2];
  }
  if (codes[at] === 2) {
    const rgb = codes.slice(at + 1, at + 4);
    return [rgb.length === 3 && rgb.every(byte) ? hex(rgb) : null, 4];
  }
  return [null, 1];
}

function indexed(n) {
  if (n < 16) return `c${n}`;
  if (n >= 232) return hex([0, 0, 0].fill(8 + (n - 232) * 10));
  const level = (v) => (v === 0 ? 0 : 55 + v * 40);
  const i = n - 16;
  return hex([level(Math.floor(i / 36)), level(Math.floor(i / 6) % 6), level(i % 6)]);
}

function hex(rgb) {
  return `#${rgb.map((v) => v.toString(16).padStart(2, '0')).join('')}`;
}

/** The text of a line. */
export function plainText(runs) {
  let s = '';
  for (const r of runs) s += r.text;
  return s;
}
