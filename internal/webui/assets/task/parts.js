// Parts of the page of a task: how it is told apart, what it asked for, its attempts, its steps and what it left as a result.

import { h } from '../dom.js';
import { bytes, clock, duration, millis, now, short, time } from '../format.js';
import { badge, taskLook } from '../status.js';
import { address } from '../router.js';

/** What a task asks for, in full. */
export function askOf(task) {
  if (!task.workflow) return task.goal ?? '';
  return `${task.workflow.name}@${task.workflow.version}`;
}

/** Whether nothing will change of a task any more. */
export function over(task) {
  return ['done', 'failed', 'cancelled'].includes(task.status);
}

/** What is so about a task; `first` is its first attempt, if there was one. */
export function factsOf(task, first, names) {
  const c = task.constraints ?? {};
  const wants = [
    c.driver_type, ...(c.tags ?? []), c.runner && `runner: ${c.runner}`, c.device_id && `device: ${names.device(c.device_id)}`,
    c.host_id && `host: ${names.host(c.host_id)}`,
  ].filter(Boolean);
  const labels = Object.entries(task.labels ?? {});
  const created = millis(task.created_at);
  const given = first?.number === 1 ? millis(first.assigned_at) : NaN;
  const begun = millis(task.dispatched_at);
  const ended = millis(task.finished_at);
  return h('dl', { class: 'facts' }, [
    ['Task', h('span', { class: 'mono verbatim' }, task.id)],
    task.device_id && ['Device', h('a', { href: address('devices', task.device_id) }, names.device(task.device_id))],
    task.host_id && ['Host', names.host(task.host_id)],
    ['Submitted', time(task.created_at)],
    given >= created && ['Waited', duration(given - created)],
    begun && !over(task) && task.status === 'dispatched' && ['Running for', time(task.dispatched_at, 'since')],
    begun && ended && ['Ran', duration(ended - begun)],
    ended && ['Ended', time(task.finished_at)],
    task.lease_expires_at && ['Lease', time(task.lease_expires_at, 'left')],
    ['Attempt', task.attempt ? `${task.attempt} of at most ${task.max_attempts}` : `none yet, at most ${task.max_attempts}`],
    ['Time limit', `${duration(task.timeout_s * 1000)} an attempt`],
    task.queue_timeout_s && ['Queue limit', duration(task.queue_timeout_s * 1000)],
    task.priority !== 0 && ['Priority', task.priority],
    ['Needs', wants.length ? h('span', { class: 'tags' }, wants.map((w) => h('span', { class: 'tag' }, w))) : 'any device'],
    labels.length > 0 && ['Labels', h('span', { class: 'tags' }, labels.map(([k, v]) => h('a', { class: 'tag', href: `/tasks?label=${encodeURIComponent(`${k}=${v}`)}` }, `${k}=${v}`)))],
    task.workflow?.inputs && Object.keys(task.workflow.inputs).length > 0 && ['Inputs', Object.entries(task.workflow.inputs).map(([k, v]) => h('div', { class: 'verbatim' }, h('span', { class: 'muted' }, `${k} = `), typeof v === 'string' ? v : JSON.stringify(v)))],
  ].filter(Boolean).map(([name, value]) => [h('dt', null, name), h('dd', null, value)]));
}

/**
 * The attempts, the newest first.
 * @param {any[]} attempts
 * @param {{chosen: number, names: any, choose: (number: number) => void}} how
 */
export function attemptsOf(attempts, { chosen, names, choose }) {
  return h('ol', { class: 'attempts' }, [...attempts].reverse().map((a) => {
    const begin = millis(a.dispatched_at ?? a.assigned_at);
    const took = (a.ended_at ? millis(a.ended_at) : now()) - begin;
    const reason = a.reason && [a.reason.code, a.reason.message].filter(Boolean).join(': ');
    return h('li', { class: ['attempt', a.number === chosen && 'chosen'] },
      h('button', {
        class: 'attempt-head', type: 'button', 'aria-pressed': String(a.number === chosen), title: 'Show its log', on: { click: () => choose(a.number) },
      }, h('span', { class: 'attempt-number' }, `Attempt ${a.number}`), badge(taskLook(a.ending || a.state), { plain: true })),
      h('p', { class: 'small muted' },
        h('a', { href: address('devices', a.device_id) }, names.device(a.device_id)), ' · ', a.runner ? `${a.runner} · ` : '',
        a.ended_at ? duration(took) : ['for ', time(a.dispatched_at ?? a.assigned_at, 'since')], ' · ', clock(begin)),
      reason && a.ending !== 'done' && h('p', { class: 'small verbatim attempt-reason' }, reason),
      a.late_report && h('p', { class: 'small muted verbatim' }, `Afterwards its host reported ${a.late_report.outcome}; that had no effect.`));
  }));
}

const stepLooks = {
  waiting: { tone: 'idle', icon: 'ring', word: 'waiting' },
  running: { tone: 'busy', icon: 'play', word: 'running' },
};

/**
 * The steps of a workflow: those of the result, or those that it declares while there is none.
 * @param {{steps: any[], declared: any[], current: string, show: (step: any) => void}} how
 */
export function stepsOf({ steps, declared, current, show }) {
  const list = steps.length > 0 ? steps : declared.map((d) => ({ ...d, status: '' }));
  const reached = list.findIndex((s) => s.id === current);
  return h('ol', { class: 'steps' }, list.map((s, i) => {
    const look = s.status ? taskLook(s.status) : i === reached ? stepLooks.running : stepLooks.waiting;
    const title = s.name || s.goal || declared.find((d) => d.id === s.id)?.goal || s.id;
    return h('li', { class: 'step' },
      badge(look, { plain: true, word: '' }),
      h('div', { class: 'grow' },
        h('div', { class: 'row' }, h('span', { class: 'step-name cut' }, title), s.uses && h('span', { class: 'tag' }, s.uses), s.tries > 1 && h('span', { class: 'small muted nowrap' }, `${s.tries} tries`)),
        s.message && h('p', { class: 'small verbatim', data: { tone: look.tone } }, [s.code && s.code !== s.status ? `${s.code}: ` : '', s.message]),
        s.outputs && Object.keys(s.outputs).length > 0 && h('dl', { class: 'step-outputs small' }, Object.entries(s.outputs).map(([k, v]) => h('div', null, h('dt', null, k), h('dd', { class: 'verbatim' }, v))))),
      h('span', { class: 'sr-only' }, look.word),
      s.status && s.status !== 'skipped' && h('span', { class: 'small muted nowrap num' }, duration(s.duration_ms)),
      s.log_bytes > 0 && h('button', { class: 'button ghost small', type: 'button', title: `${bytes(s.log_bytes)} of log`, 'aria-label': `Show the log of ${title}`, on: { click: () => show(s) } }, 'log'));
  }));
}

/** A result that is no workflow's, as it came. */
export function resultOf(result) {
  return h('pre', { class: 'verbatim result', tabindex: '0', role: 'group', 'aria-label': 'Result' }, JSON.stringify(result, null, 2));
}

/** Sentences of an explanation: the first is the reason. */
export function sentencesOf(explanation) {
  const [first, ...rest] = explanation.sentences;
  return [h('p', { class: 'why-first verbatim' }, linked(first)), rest.length > 0 && h('ul', { class: 'why-rest' }, rest.map((s) => h('li', { class: 'verbatim' }, linked(s))))];
}

// A sentence in which the ids of tasks are links.
function linked(sentence) {
  return sentence.split(/\b(task_[0-9a-z]{26})\b/).map((part, i) => (i % 2 === 1 ? h('a', { href: address('tasks', part), title: part }, short(part)) : part));
}

/** Whether a result is a workflow's. */
export function stepsIn(result) {
  return Array.isArray(result?.steps) && result.steps.every((s) => s && typeof s.id === 'string') ? result.steps : [];
}

