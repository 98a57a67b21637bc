// Submit: a goal or a workflow, for which devices and within which limits; and while it is written, what would happen.

import { h, replace, text as setText } from '../dom.js';
import { short } from '../format.js';
import { everyDevice } from '../timeline/devices.js';
import { Forecast } from '../submit/forecast.js';
import { fieldAt, formOf, formOfQuery, newKey, requestOf } from '../submit/request.js';

const pause = 280; // after the last key, before the server is asked

export default {
  title: () => 'Submit',
  mount: (root, context) => new Submit(root, context).start(),
};

class Submit {
  constructor(root, { query, signal, live, api, navigate, announce }) {
    Object.assign(this, { root, signal, live, api, navigate, announce, query });
    this.kept = history.state?.form; // what was written here before somebody went on and came back
    this.form = this.kept ?? formOfQuery(query);
    this.key = newKey();
    this.fields = new Map();
    this.touched = new Set();
    this.declared = [];
    this.forecast = new Forecast();
    this.pool = { devices: [], hosts: [], workflows: [] };
  }

  async start() {
    this.general = h('p', { class: 'notice', data: { tone: 'bad' }, role: 'alert', hidden: true });
    this.intro = h('p', { class: 'small muted' });
    this.button = h('button', { class: 'button primary', type: 'submit' }, 'Submit task');
    this.formNode = h('form', { class: 'card submit-form', novalidate: true, on: { submit: (e) => this.submit(e), input: () => this.changed(), keydown: (e) => this.hurry(e) } });
    this.root.append(h('div', { class: 'page submit' }, h('div', { class: 'page-head' }, h('div', { class: 'grow' }, h('h1', null, 'Submit a task'), this.intro)), this.general,
      h('div', { class: 'submit-columns' }, this.formNode, this.forecast.node)));
    await Promise.all([this.readPool(), this.readTask()]);
    if (this.signal.aborted) return;
    this.build();
    await this.readWorkflow();
    this.ask();
    const off = this.live.on((e) => {
      if (/^(task\.(done|failed|cancelled|requeued|assigned)|device\.|host\.)/.test(e.kind) || e.kind === 'reset') this.askSoon(2500);
    });
    this.signal.addEventListener('abort', off);
  }

  async readPool() {
    const read = async (key, asked) => {
      try {
        this.pool[key] = await asked;
      } catch {
        // the form works without suggestions
      }
    };
    const list = async (key) => (await this.api.get(`/v1/${key}`, { signal: this.signal }))[key];
    await Promise.all([read('devices', everyDevice(this.api, this.signal)), read('hosts', list('hosts')), read('workflows', list('workflows'))]);
  }

  async readTask() {
    if (!this.query.from) return;
    try {
      if (!this.kept) this.form = formOf(await this.api.get(`/v1/tasks/${encodeURIComponent(this.query.from)}`, { signal: this.signal }));
      this.intro.append('As ', h('a', { href: `/tasks/${encodeURIComponent(this.query.from)}`, class: 'mono' }, short(this.query.from)), ' was; change what should differ.');
    } catch (err) {
      if (!this.signal.aborted) this.tell(err.message);
    }
  }

  build() {
    const f = this.form;
    const kind = (value, word) => h('button', { class: 'button', type: 'button', 'aria-pressed': String(f.kind === value), on: { click: () => this.setKind(value) } }, word);
    this.kinds = [kind('goal', 'Goal'), kind('workflow', 'Workflow')];
    this.goalBox = h('div', { class: 'stack' }, this.field('/goal', 'goal', 'What should the device do?', h('textarea', {
      class: 'input goal-input', rows: 4, placeholder: 'Open Settings and turn on dark mode', spellcheck: 'true',
    })));
    this.inputsBox = h('div', { class: 'stack' });
    const workflows = [h('option', { value: '' }, 'Choose a workflow'), ...this.pool.workflows.map((w) => h('option', { value: w.name }, w.name))];
    if (f.workflow && !this.pool.workflows.some((w) => w.name === f.workflow)) workflows.push(h('option', { value: f.workflow }, f.workflow));
    this.workflowBox = h('div', { class: 'stack' },
      h('div', { class: 'submit-pair' }, this.field('/workflow/name', 'workflow', 'Workflow', h('select', { class: 'input' }, workflows)),
        this.field('/workflow/version', 'version', 'Version', h('input', { class: 'input', inputmode: 'numeric', placeholder: 'newest' }))),
      this.inputsBox);
    const drivers = new Set(this.pool.devices.map((d) => d.driver_type));
    const tags = new Set(this.pool.devices.flatMap((d) => d.tags));
    const runners = new Set(this.pool.devices.flatMap((d) => d.runners));
    const choice = (items, current) => {
      const options = [h('option', { value: '' }, 'Any'), ...items.map(([id, name]) => h('option', { value: id }, name))];
      if (current && !items.some(([id]) => id === current)) options.push(h('option', { value: current }, short(current)));
      return h('select', { class: 'input' }, options);
    };
    const hosts = new Map(this.pool.hosts.map((x) => [x.id, x.name]));
    const byName = new Intl.Collator(undefined, { numeric: true }).compare;
    const devices = this.pool.devices.map((d) => [d.id, `${d.name} · ${hosts.get(d.host_id) ?? ''}`]).sort((a, b) => byName(a[1], b[1]));
    const text = (placeholder, list) => h('input', { class: 'input', placeholder, autocomplete: 'off', spellcheck: 'false', list });
    replace(this.formNode,
      h('div', { class: 'body stack' },
        h('div', { class: 'segments', role: 'group', 'aria-label': 'What is submitted' }, this.kinds), this.goalBox, this.workflowBox),
      h('fieldset', { class: 'body' }, h('legend', null, 'Device'), suggestions('drivers', drivers), suggestions('tags', tags), suggestions('runners', runners),
        h('div', { class: 'submit-grid' },
          this.field('/constraints/driver_type', 'driver', 'Driver type', text('any', 'drivers')), this.field('/constraints/tags', 'tags', 'Tags', text('pixel-8, 5g', 'tags'), 'all of them'),
          this.field('/constraints/runner', 'runner', 'Runner', text('the host’s default', 'runners')), this.field('/constraints/device_id', 'device', 'This device', choice(devices, f.device)),
          this.field('/constraints/host_id', 'host', 'On this host', choice([...hosts], f.host)))),
      h('fieldset', { class: 'body' }, h('legend', null, 'Limits and labels'),
        h('div', { class: 'submit-grid' },
          this.field('/timeout_s', 'timeout', 'Time limit', text('30m'), 'of one attempt'), this.field('/queue_timeout_s', 'queueTimeout', 'Queue limit', text('none'), 'then it fails'),
          this.field('/max_attempts', 'attempts', 'Attempts', text('3'), 'at most'), this.field('/priority', 'priority', 'Priority', text('0'), '-10 to 10'),
          this.field('/labels', 'labels', 'Labels', text('team=qa, suite=nightly')))),
      h('footer', { class: 'submit-foot' }, this.button, h('span', { class: 'small muted' }, h('kbd', null, 'Ctrl'), ' ', h('kbd', null, 'Enter'))));
    this.setKind(f.kind);
    (f.kind === 'goal' ? this.fields.get('/goal') : this.fields.get('/workflow/name')).input.focus({ preventScroll: true });
  }

  // A field: its label, its input, and where its faults are told.
  field(pointer, name, label, input, hint = '', values = this.form) {
    const id = `f${pointer.replaceAll('/', '-')}`;
    const error = h('p', { class: 'error', id: `${id}-error`, hidden: true });
    input.id = id;
    input.value = values[name] ?? '';
    input.setAttribute('aria-describedby', error.id);
    input.addEventListener('input', () => {
      values[name] = input.value;
      this.touched.add(pointer);
      if (pointer === '/workflow/name' || pointer === '/workflow/version') this.readWorkflow();
    });
    this.fields.set(pointer, { input, error });
    return h('div', { class: 'field' }, h('label', { for: id }, label, hint && h('span', { class: 'field-hint' }, ` ${hint}`)), input, error);
  }

  setKind(kind) {
    this.form.kind = kind;
    this.kinds[0].setAttribute('aria-pressed', String(kind === 'goal'));
    this.kinds[1].setAttribute('aria-pressed', String(kind === 'workflow'));
    this.goalBox.hidden = kind !== 'goal';
    this.workflowBox.hidden = kind !== 'workflow';
    this.changed();
  }

  // The inputs that the chosen workflow declares become fields.
  async readWorkflow() {
    const { workflow: name, version } = this.form;
    const wanted = `${name}@${version}`;
    if (this.shownWorkflow === wanted) return;
    this.shownWorkflow = wanted;
    for (const pointer of [...this.fields.keys()]) if (pointer.startsWith('/workflow/inputs')) this.fields.delete(pointer);
    if (name === '') {
      this.inputsBox.replaceChildren();
      return;
    }
    try {
      const w = await this.api.get(`/v1/workflows/${encodeURIComponent(name)}?version=${Number(version) || 0}`, { signal: this.signal });
      if (this.shownWorkflow !== wanted) return;
      const inputs = w.inputs ?? [];
      this.form.inputs = Object.fromEntries(inputs.map((i) => [i.name, this.form.inputs[i.name] ?? '']));
      replace(this.inputsBox, inputs.map((i) => this.field(`/workflow/inputs/${i.name}`, i.name, i.name, h('input', {
        class: 'input', placeholder: i.default ?? '', required: i.required === true, autocomplete: 'off',
      }), [i.required ? 'required' : '', i.description].filter(Boolean).join(' · '), this.form.inputs)));
    } catch {
      if (this.shownWorkflow === wanted) this.inputsBox.replaceChildren();
    }
  }

  changed() {
    this.key = newKey(); // another request is another submission
    this.tell('');
    this.askSoon(pause);
  }

  askSoon(after) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.signal.aborted || this.ask(), after);
  }

  // The form stays with this place of the history: Back shows it as it was, and so does a sign-in in between.
  keep() {
    if (this.signal.aborted) return; // the place is another view's already
    try {
      history.replaceState({ form: this.form }, '');
    } catch {
      // browsers allow so many a time
    }
  }

  hurry(e) {
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) {
      e.preventDefault();
      this.formNode.requestSubmit(this.button);
    }
  }

  // Asks what would happen. Only the newest question counts.
  async ask() {
    this.keep();
    this.asking?.abort();
    const { request, wrong } = requestOf(this.form);
    this.showFaults(wrong);
    const empty = this.form.kind === 'goal' ? this.form.goal.trim() === '' : this.form.workflow === '';
    if (empty) {
      this.forecast.say('empty', 'Write a goal or choose a workflow, and this says which device would take it, or what it would wait for.');
      return;
    }
    if (Object.keys(wrong).length > 0) {
      this.forecast.fault('A field is not right yet.');
      return;
    }
    const stop = new AbortController();
    this.asking = stop;
    this.forecast.busy(true);
    try {
      this.forecast.show(await this.api.post('/v1/tasks/explain', request, { signal: AbortSignal.any([this.signal, stop.signal]) }));
    } catch (err) {
      if (stop.signal.aborted || this.signal.aborted) return;
      this.forecast.fault(sentence(err.message));
      if (err.status === 422 || err.status === 404) this.showFaults(faultsOf(err), true);
    }
    this.forecast.busy(false);
  }

  // Faults stand at their fields; those of fields that nobody has written in yet wait until the form is sent.
  showFaults(faults, patient = false) {
    const rest = [];
    for (const [pointer, { input, error }] of this.fields) {
      const text = faults[pointer];
      const show = text !== undefined && !(patient && !this.touched.has(pointer));
      error.hidden = !show;
      setText(error, show ? text : '');
      if (show) input.setAttribute('aria-invalid', 'true');
      else input.removeAttribute('aria-invalid');
    }
    for (const [pointer, text] of Object.entries(faults)) if (!this.fields.has(pointer)) rest.push(text);
    return rest;
  }

  tell(text) {
    this.general.hidden = text === '';
    setText(this.general, text);
  }

  async submit(e) {
    e.preventDefault();
    if (this.sending) return;
    this.keep();
    const { request, wrong } = requestOf(this.form);
    if (Object.keys(wrong).length > 0) {
      this.showFaults(wrong);
      this.focusFault();
      return;
    }
    this.sending = true;
    this.button.setAttribute('aria-disabled', 'true');
    this.tell('');
    try {
      const task = await this.api.post('/v1/tasks', request, { headers: { 'Idempotency-Key': this.key } });
      this.announce?.('The task is submitted.');
      this.navigate(`/tasks/${encodeURIComponent(task.id)}`);
    } catch (err) {
      if (this.signal.aborted) return;
      const rest = err.status === 422 || err.status === 404 ? this.showFaults(faultsOf(err)) : [err.message];
      // The same key again finds the task that a lost answer has made.
      if (err.status === 0 || err.status === 503) rest[0] = `${err.message} It is not known whether the task was submitted; send it again, it will be submitted once.`;
      this.tell(rest.join(' '));
      if (rest.length === 0) this.focusFault();
    } finally {
      this.sending = false;
      this.button.removeAttribute('aria-disabled');
    }
  }

  focusFault() {
    [...this.fields.values()].find(({ input }) => input.getAttribute('aria-invalid'))?.input.focus();
  }
}

function faultsOf(err) {
  const pointer = err.code === 'workflow_unknown' ? '/workflow/name' : fieldAt(err.extra.pointer);
  return { [pointer]: sentence(err.message) };
}

function sentence(text) {
  return text ? `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}` : text;
}

function suggestions(id, values) {
  return h('datalist', { id }, [...values].sort().map((v) => h('option', { value: v })));
}

