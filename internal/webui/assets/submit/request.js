// What the form asks for, as a request of the API, and back from a task: for "submit again" and for an address that fills the
// form in. Nothing here touches the page.

/**
 * @typedef {{kind: 'goal'|'workflow', goal: string, workflow: string, version: string, inputs: Object<string, string>, driver: string, tags: string,
 *   runner: string, device: string, host: string, timeout: string, queueTimeout: string, attempts: string, priority: string, labels: string}} Form
 */

/** @returns {Form} */
export function emptyForm() {
  return {
    kind: 'goal', goal: '', workflow: '', version: '', inputs: {}, driver: '', tags: '', runner: '', device: '', host: '', timeout: '', queueTimeout: '',
    attempts: '', priority: '', labels: '',
  };
}

/** The words of a list: by commas or blanks between them. */
export function wordsOf(text) {
  return text.split(/[\s,]+/).filter(Boolean);
}

const units = { s: 1, m: 60, min: 60, h: 3600, d: 86400 };

/** Seconds of "90", "90s", "30m" or "1h30m"; NaN when it is none, undefined when nothing is written. */
export function secondsOf(text) {
  const t = text.trim().toLowerCase().replaceAll(' ', '');
  if (t === '') return undefined;
  if (/^\d+$/.test(t)) return Number(t);
  if (!/^(\d+(?:min|[smhd]))+$/.test(t)) return NaN;
  let sum = 0;
  for (const [, n, unit] of t.matchAll(/(\d+)(min|[smhd])/g)) sum += Number(n) * units[unit];
  return sum;
}

/** Seconds as they are written in the form. */
export function writtenSeconds(s) {
  if (!s) return '';
  for (const [unit, n] of [['d', 86400], ['h', 3600], ['m', 60]]) if (s % n === 0) return `${s / n}${unit}`;
  return `${s}s`;
}

/**
 * The request that a form makes, and what is wrong with it by pointer before anybody is asked.
 * @param {Form} form
 */
export function requestOf(form) {
  /** @type {Object<string, string>} */
  const wrong = {};
  /** @type {any} */
  const request = {};
  if (form.kind === 'workflow') {
    request.workflow = { name: form.workflow };
    if (form.version) request.workflow.version = Number(form.version);
    const inputs = Object.fromEntries(Object.entries(form.inputs).filter(([, v]) => v !== ''));
    if (Object.keys(inputs).length > 0) request.workflow.inputs = inputs;
  } else {
    request.goal = form.goal;
  }
  const constraints = { driver_type: form.driver.trim(), tags: wordsOf(form.tags), runner: form.runner.trim(), device_id: form.device, host_id: form.host };
  for (const [key, value] of Object.entries(constraints)) if (value.length === 0) delete constraints[key];
  if (Object.keys(constraints).length > 0) request.constraints = constraints;
  number(request, wrong, 'timeout_s', secondsOf(form.timeout), 'Write a time such as 90s, 30m or 2h.');
  number(request, wrong, 'queue_timeout_s', secondsOf(form.queueTimeout), 'Write a time such as 90s, 30m or 2h.');
  number(request, wrong, 'max_attempts', whole(form.attempts), 'Write a number from 1 to 10.');
  number(request, wrong, 'priority', whole(form.priority), 'Write a number from -10 to 10.');
  const labels = {};
  for (const pair of form.labels.split(/[\n,]+/).map((p) => p.trim()).filter(Boolean)) {
    const at = pair.indexOf('=');
    if (at <= 0) wrong['/labels'] = `Write labels as key=value; "${pair}" has no "=".`;
    else labels[pair.slice(0, at).trim()] = pair.slice(at + 1).trim();
  }
  if (Object.keys(labels).length > 0) request.labels = labels;
  return { request, wrong };
}

function whole(text) {
  const t = text.trim();
  if (t === '') return undefined;
  return /^-?\d{1,6}$/.test(t) ? Number(t) : NaN;
}

function number(request, wrong, key, value, help) {
  if (value === undefined) return;
  if (Number.isNaN(value)) wrong[`/${key}`] = help;
  else request[key] = value;
}

/** The form that would submit a task again. */
export function formOf(task) {
  const c = task.constraints ?? {};
  const form = emptyForm();
  if (task.workflow) {
    form.kind = 'workflow';
    form.workflow = task.workflow.name;
    form.version = String(task.workflow.version);
    for (const [k, v] of Object.entries(task.workflow.inputs ?? {})) form.inputs[k] = typeof v === 'string' ? v : JSON.stringify(v);
  } else {
    form.goal = task.goal ?? '';
  }
  form.driver = c.driver_type ?? '';
  form.tags = (c.tags ?? []).join(', ');
  form.runner = c.runner ?? '';
  form.device = c.device_id ?? '';
  form.host = c.host_id ?? '';
  form.timeout = task.timeout_s && task.timeout_s !== 1800 ? writtenSeconds(task.timeout_s) : '';
  form.queueTimeout = writtenSeconds(task.queue_timeout_s);
  form.attempts = task.max_attempts && task.max_attempts !== 3 ? String(task.max_attempts) : '';
  form.priority = task.priority ? String(task.priority) : '';
  form.labels = Object.entries(task.labels ?? {}).map(([k, v]) => `${k}=${v}`).join(', ');
  return form;
}

/** The form that an address fills in: `goal`, `workflow`, `driver`, `device`, `tag`. */
export function formOfQuery(query) {
  const form = emptyForm();
  if (query.workflow) [form.kind, form.workflow] = ['workflow', query.workflow];
  for (const [name, key] of [['goal', 'goal'], ['driver', 'driver'], ['device', 'device'], ['tag', 'tags'], ['version', 'version']]) form[key] = query[name] ?? '';
  return form;
}

/** Which field a problem's pointer is about; '' for the form as a whole. */
export function fieldAt(pointer) {
  const p = pointer ?? '';
  const input = /^\/workflow\/inputs\/(.+)$/.exec(p);
  if (input) return `/workflow/inputs/${input[1]}`;
  for (const known of ['/workflow/inputs', '/workflow/name', '/workflow/version', '/constraints/tags', '/labels']) if (p === known || p.startsWith(`${known}/`)) return known;
  return p;
}

/** A key under which a submission is the same when it is sent again. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(20));
  return `ui-${Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('')}`;
}
