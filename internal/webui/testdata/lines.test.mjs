import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lines, pieces, textOf } from '../assets/task/lines.js';

const bytes = (s) => new TextEncoder().encode(s);

test('lines keep the offset at which they begin, whatever the pieces', () => {
  const written = bytes('one\nzwei ü\n\x1b[31mthree\x1b[0m\nfour');
  for (let cut = 1; cut < written.length; cut++) {
    const l = new Lines();
    l.begin(1);
    l.push(written.slice(0, cut), 0);
    l.push(written.slice(cut), cut);
    assert.deepEqual(l.list.map((x) => [textOf(x), x.offset, x.number]), [['one', 0, 1], ['zwei ü', 4, 2], ['three', 12, 3], ['four', 27, 4]], `cut at ${cut}`);
  }
});

test('an offset is found in its attempt', () => {
  const l = new Lines();
  l.begin(1);
  l.push(bytes('a\nb\n'), 0);
  l.begin(2);
  l.mark('Attempt 2');
  l.push(bytes('c\nd\n'), 0);
  assert.equal(textOf(l.list[l.at(2, 2)]), 'd');
  assert.equal(textOf(l.list[l.at(1, 3)]), 'b');
  assert.equal(l.at(3, 0), -1);
});

test('a gap is told, and what follows has its own offset', () => {
  const l = new Lines();
  l.begin(1);
  l.push(bytes('head'), 0);
  l.mark('left out');
  l.gap(1000, 4);
  l.push(bytes('tail\n'), 1004);
  assert.deepEqual(l.list.map((x) => [textOf(x), x.offset]), [['head', 0], ['left out', 4], ['tail', 1004]]);
});

test('memory is bounded: the oldest lines go, and are counted', () => {
  const l = new Lines(100);
  l.begin(1);
  for (let i = 0, at = 0; i < 1000; i++) {
    const line = bytes(`line ${i}\n`);
    l.push(line, at);
    at += line.length;
  }
  assert.ok(l.list.length <= 110);
  assert.equal(l.list.length + l.dropped, 1000);
  assert.equal(textOf(l.list.at(-1)), 'line 999');
  l.push(bytes('x'.repeat(1 << 20)), 99999);
  assert.ok(textOf(l.list.at(-1)).length < 10000);
});

test('what is searched is found whatever its case, and cut out across styles', () => {
  const l = new Lines();
  l.begin(1);
  l.push(bytes('no\nThe \x1b[32mErr\x1b[0mor is here, error\n'), 0);
  assert.deepEqual(l.search('error'), [1]);
  assert.deepEqual(pieces(l.list[1].runs, 'error').map((p) => [p.text, p.found]), [
    ['The ', false], ['Err', true], ['or', true], [' is here, ', false], ['error', true],
  ]);
  assert.deepEqual(pieces('plain', ''), [{ run: { text: 'plain' }, text: 'plain', found: false }]);
});
