import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyForm, fieldAt, formOf, formOfQuery, newKey, requestOf, secondsOf, writtenSeconds } from '../assets/submit/request.js';

test('a form makes a request without what is left out', () => {
  assert.deepEqual(requestOf({ ...emptyForm(), goal: 'open Settings' }), { request: { goal: 'open Settings' }, wrong: {} });
  const full = { ...emptyForm(), goal: 'g', driver: ' sim ', tags: 'a, b  c', timeout: '90s', queueTimeout: '1h30m', attempts: '2', priority: '-3', labels: 'team=qa, x=y=z' };
  assert.deepEqual(requestOf(full).request, {
    goal: 'g', constraints: { driver_type: 'sim', tags: ['a', 'b', 'c'] }, timeout_s: 90, queue_timeout_s: 5400, max_attempts: 2, priority: -3,
    labels: { team: 'qa', x: 'y=z' },
  });
});

test('what is wrong stands at its field', () => {
  const { wrong } = requestOf({ ...emptyForm(), goal: 'g', timeout: 'soon', attempts: '2.5', labels: 'nothing' });
  assert.deepEqual(Object.keys(wrong).sort(), ['/labels', '/max_attempts', '/timeout_s']);
});

test('a task submitted again is the same request', () => {
  const task = {
    goal: '', workflow: { name: 'look', version: 3, inputs: { app: 'Clock' } }, constraints: { driver_type: 'sim', tags: ['x'], device_id: 'device_1' },
    timeout_s: 3600, queue_timeout_s: 90, max_attempts: 3, priority: 1, labels: { team: 'qa' },
  };
  assert.deepEqual(requestOf(formOf(task)).request, {
    workflow: { name: 'look', version: 3, inputs: { app: 'Clock' } }, constraints: { driver_type: 'sim', tags: ['x'], device_id: 'device_1' },
    timeout_s: 3600, queue_timeout_s: 90, priority: 1, labels: { team: 'qa' },
  });
});

test('times are read and written', () => {
  for (const s of [1, 59, 90, 3600, 5400, 86400]) assert.equal(secondsOf(writtenSeconds(s)), s);
  assert.equal(secondsOf(''), undefined);
  assert.ok(Number.isNaN(secondsOf('1x')));
  assert.equal(secondsOf('2 min'), 120);
});

test('pointers find their field', () => {
  assert.equal(fieldAt('/constraints/tags/3'), '/constraints/tags');
  assert.equal(fieldAt('/labels/team'), '/labels');
  assert.equal(fieldAt('/workflow/inputs/app'), '/workflow/inputs/app');
  assert.equal(fieldAt('/goal'), '/goal');
});

test('an address fills the form in, and keys differ', () => {
  assert.equal(formOfQuery({ goal: 'g', driver: 'sim' }).goal, 'g');
  assert.equal(formOfQuery({ workflow: 'look' }).kind, 'workflow');
  assert.notEqual(newKey(), newKey());
  assert.match(newKey(), /^ui-[0-9a-f]{40}$/);
});
