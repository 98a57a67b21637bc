// Sentences and small parts that several views share.

import { h } from './dom.js';
import { oneLine, short } from './format.js';

/**
 * What a task asks of a device, as words: [] is "any device".
 * @param {any} c constraints
 * @param {(id: string) => string|undefined} [nameOf] of a device or a host
 */
export function constraintWords(c, nameOf = () => undefined) {
  const words = [];
  if (c?.driver_type) words.push(c.driver_type);
  for (const tag of c?.tags ?? []) words.push(tag);
  if (c?.runner) words.push(`runner ${c.runner}`);
  if (c?.device_id) words.push(nameOf(c.device_id) ?? short(c.device_id));
  if (c?.host_id) words.push(`on ${nameOf(c.host_id) ?? short(c.host_id)}`);
  return words;
}

/** The same as tags. */
export function constraintTags(c, nameOf) {
  const words = constraintWords(c, nameOf);
  return h('span', { class: 'tags' }, words.length ? words.map((w) => h('span', { class: 'tag' }, w)) : h('span', { class: 'muted small' }, 'any device'));
}

/** What a task is about, in one line. */
export function taskTitle(t) {
  if (t.workflow) return `${t.workflow.name}${t.workflow.version ? `@${t.workflow.version}` : ''}`;
  return oneLine(t.goal, 140) || 'a task without words';
}

/** A refusal for people: its sentence, with a capital and a full stop. */
export function problemText(err) {
  const text = err?.detail || err?.title || 'Something went wrong.';
  return `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}

/** A notice about a refusal. */
export function problemNotice(err, again) {
  return h('div', { class: 'notice', data: { tone: err?.status === 0 ? 'warn' : 'bad' }, role: 'alert' }, h('span', { class: 'grow' }, problemText(err)),
    again && h('button', { class: 'button small', type: 'button', on: { click: again } }, 'Try again'));
}
