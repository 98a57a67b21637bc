import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ansi, plainText } from '../assets/task/ansi.js';
import { coloursOf, inkOn } from '../assets/task/colours.js';

const lines = (...written) => {
  const a = new Ansi();
  const out = written.flatMap((s) => a.push(s));
  return [...out, a.open];
};
const texts = (...written) => lines(...written).map(plainText);
const styled = (runs) => runs.map((r) => [r.text, r.fg, r.bg, r.bold ? 'b' : ''].join('|'));

test('colours and weights become runs', () => {
  const [line] = lines('\x1b[1;31merror\x1b[0m: \x1b[38;5;208mwarm\x1b[39m \x1b[48;2;1;2;3mground\x1b[m\n');
  assert.deepEqual(styled(line), ['error|c1||b', ': |||', 'warm|#ff8700||', ' |||', 'ground||#010203|']);
});

test('bright, inverse, colons and what is not known', () => {
  assert.deepEqual(styled(lines('\x1b[92mok\x1b[7mno\x1b[27m\x1b[38:2:1:2:3mx\n')[0]), ['ok|c10||', 'no|bg|c10|', 'x|#010203||']);
  assert.deepEqual(styled(lines('\x1b[38;5;999mx\x1b[38;9my\x1b[999mz\n')[0]), ['xyz|||']);
});

test('every other sequence is dropped, wherever a piece ends', () => {
  const all = '\x1b[2J\x1b[1;1Ha\x1b]0;title\x07b\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\\x1b[?25l\x1bPq#0\x1b\\c\x1b7\x1b(B\x9b31md\n';
  assert.deepEqual(texts(all)[0], 'ablinkcd');
  for (let cut = 1; cut < all.length; cut++) assert.equal(texts(all.slice(0, cut), all.slice(cut))[0], 'ablinkcd', `cut at ${cut}`);
});

test('control characters and marks that turn text around are dropped', () => {
  assert.equal(texts('a\x00\x07\x08b\u202etxt.exe\u2066\tc\n')[0], 'abtxt.exe\tc');
});

test('a carriage return writes the line anew, one before a line feed does not', () => {
  assert.deepEqual(texts('10%\r50%\r100%\r\nnext\r\n'), ['100%', 'next', '']);
  assert.deepEqual(texts('a\r', '\nb\n'), ['a', 'b', '']);
});

test('markup stays text', () => {
  assert.equal(texts('<img src=x onerror=alert(1)>\n')[0], '<img src=x onerror=alert(1)>');
});

test('an endless sequence does not hold text back for ever', () => {
  const a = new Ansi();
  a.push(`\x1b]${'x'.repeat(10000)}`);
  a.push('\n');
  assert.ok(a.push('after\n').some((l) => plainText(l).includes('after')));
});

test('text on a ground of its own can be read', () => {
  assert.deepEqual(coloursOf({ fg: 'c1', bg: '' }), { style: {}, names: ['fg-c1'] });
  assert.equal(coloursOf({ fg: '', bg: '#000000' }).style.color, '#ffffff');
  assert.equal(coloursOf({ fg: '', bg: 'c15' }).style.color, '#0d1117');
  assert.equal(inkOn('#ffff00'), '#0d1117');
  assert.match(coloursOf({ fg: '#123456', bg: '' }).style.color, /^color-mix\(in oklab, #123456/);
});
