import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asked, clampWidth, covers, following, longest, pan, position, queryOf, shortest, spanOf, ticks, widthName, zoom } from '../assets/timeline/scale.js';

const minute = 60000;
const hour = 60 * minute;
const now = Date.parse('2026-03-01T12:00:00Z');

test('a span that follows ends a little ahead of now, and zooming keeps it so', () => {
  const s = following(hour, now);
  assert.ok(s.to > now && s.to - now < hour / 10);
  const closer = zoom(s, 0.5, 0.1, now);
  assert.equal(closer.follow, true);
  assert.equal(closer.to - closer.from, hour / 2);
  assert.ok(closer.from < now && closer.to > now);
});

test('zooming keeps the time under the anchor where it is', () => {
  const s = { from: now - 3 * hour, to: now - hour, follow: false };
  const at = s.from + 0.25 * 2 * hour;
  const z = zoom(s, 0.3, 0.25, now);
  assert.ok(Math.abs(z.from + (z.to - z.from) * 0.25 - at) < 1);
});

test('there is nothing beyond the shortest, the longest and now', () => {
  assert.equal(clampWidth(1), shortest);
  assert.equal(zoom({ from: now - hour, to: now - minute, follow: false }, 1e9, 0.5, now).follow, true);
  assert.equal(zoom(following(hour, now), 1e9, 0.5, now).to - zoom(following(hour, now), 1e9, 0.5, now).from, longest);
  assert.equal(pan(following(hour, now), hour, now).follow, true);
  assert.equal(pan(following(hour, now), -minute, now).follow, false);
});

test('an address gives back the span that it was made of', () => {
  for (const s of [following(15 * minute, now), following(90000, now), following(6 * hour, now), { from: now - hour, to: now - 1000, follow: false }]) {
    const q = Object.fromEntries(Object.entries(queryOf(s)).filter(([, v]) => v !== ''));
    const back = spanOf(q, now);
    assert.deepEqual(back, s);
  }
  assert.deepEqual(queryOf(following(15 * minute, now)), { span: '', from: '', to: '' });
});

test('an address that makes no sense gives the usual span', () => {
  for (const q of [{}, { span: 'soon' }, { span: '-5m' }, { from: 'x', to: 'y' }, { from: '2026-03-01T12:00:00Z', to: '2026-03-01T11:00:00Z' }]) {
    assert.equal(spanOf(q, now).to - spanOf(q, now).from, 15 * minute);
  }
  const far = spanOf({ from: '1970-01-01T00:00:00Z', to: '2026-03-01T12:00:00Z' }, now);
  assert.equal(far.to - far.from, longest);
});

test('ticks are few, at round local times, and days are told', () => {
  for (const width of [30000, minute, hour, 6 * hour, 24 * hour, longest]) {
    const s = { from: now - width, to: now };
    const t = ticks(s, 10, -330); // India
    assert.ok(t.length >= 1 && t.length <= 11, `${width}: ${t.length}`);
    for (const { at, step } of t) assert.equal((at + 330 * minute) % step, 0);
  }
  const days = ticks({ from: now - 3 * 24 * hour, to: now }, 8, 0).filter((t) => t.day);
  assert.equal(days.length, 3);
});

test('what was asked for is good while it covers the span at about its width', () => {
  const s = { from: now - hour, to: now };
  const had = asked(s);
  assert.ok(covers(had, s));
  assert.ok(covers(had, { from: s.from + 20 * minute, to: s.to + 20 * minute }));
  assert.ok(!covers(had, { from: s.from - 40 * minute, to: s.to - 40 * minute }));
  assert.ok(!covers(had, { from: now - 5 * minute, to: now }), 'far too coarse');
});

test('positions and names', () => {
  assert.equal(position({ from: 0, to: 100 }, 25, 400), 100);
  assert.equal(widthName(15 * minute), '15 min');
  assert.equal(widthName(7 * 24 * hour), '7 d');
});
