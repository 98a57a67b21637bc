import assert from 'node:assert/strict';
import { test } from 'node:test';
import { visible } from '../assets/dom.js';
import { duration } from '../assets/format.js';
import { Pool } from '../assets/pool.js';

test('marks that turn text around are seen and do not act', () => {
  assert.equal(visible('print \u202egnp.exe'), 'print \ufffdgnp.exe');
  for (const mark of '\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069') assert.equal(visible(`a${mark}b`), 'a\ufffdb');
  assert.equal(visible('שלום 👩‍💻 é'), 'שלום 👩‍💻 é');
  assert.equal(visible(7), '7');
  assert.equal(visible(duration(1500)), '1.5 s');
});

test('devices stand in the order of their names', () => {
  const p = new Pool();
  p.load({ pos: 1, tasks: {}, devices: ['sim-10', 'sim-2', 'pixel', 'sim-1'].map((name, i) => ({ id: `device_${i}`, name })) });
  assert.deepEqual([...p.devices.values()].map((d) => d.name), ['pixel', 'sim-1', 'sim-2', 'sim-10']);
});
