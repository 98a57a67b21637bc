// Task: where it stands and why, its attempts and steps, its log as it is written, and what it left.

import { ask } from '../dialogs.js';
import { problemText } from '../describe.js';
import { h, keyed, paced, replace, text } from '../dom.js';
import { oneLine, plural, short } from '../format.js';
import { setBadge, taskLook } from '../status.js';
import { artifactNode, byLook } from '../task/artifacts.js';
import { LogView } from '../task/log.js';
import { askOf, attemptsOf, factsOf, over, resultOf, sentencesOf, stepsIn, stepsOf } from '../task/parts.js';

const logs = [['runner', 'Output'], ['device', 'Device'], ['events', 'Runner events']];

export default {
  title: (params) => short(params.id),
  mount: (root, context) => new TaskView(root, context).start(),
};

class TaskView {
  constructor(root, { params, query, signal, live, api, setQuery, setTitle, announce, navigate }) {
    Object.assign(this, { root, signal, live, api, setQuery, setTitle, announce, navigate });
    this.id = params.id;
    this.path = `/v1/tasks/${encodeURIComponent(params.id)}`;
    this.chosen = Number(query.attempt) || 0; // whose log is shown; 0: the first and each that follows
    this.tab = logs.some(([name]) => name === query.log) ? query.log : 'runner';
    this.search = query.q ?? '';
    this.attempts = [];
    this.artifacts = [];
    this.devices = new Map();
    this.hosts = new Map();
    this.load = paced(() => this.read(), 250, signal);
    this.explain = paced(() => this.readExplanation(), 1500, signal);
  }

  start() {
    this.title = h('h1', { class: 'task-title verbatim' }, short(this.id));
    this.badge = h('span', { class: 'badge', role: 'status' });
    this.actions = h('div', { class: 'row wrap' });
    this.failure = h('p', { class: 'notice', data: { tone: 'bad' }, role: 'alert', hidden: true });
    this.why = h('div', { class: 'why' });
    this.steps = card('Steps', true);
    this.files = card('Artifacts', true);
    this.fileList = h('ul', { class: 'artifacts' });
    this.files.body.append(this.fileList);
    this.result = card('Result', true);
    this.facts = card('Task');
    this.tries = card('Attempts', true);
    this.logBox = h('div');
    this.page = h('div', { class: 'page task', hidden: true },
      h('div', { class: 'page-head task-head' }, h('div', { class: 'grow' }, h('div', { class: 'row' }, this.badge, h('span', { class: 'small muted mono cut' }, this.id)), this.title), this.actions),
      this.failure,
      h('div', { class: 'task-columns' },
        h('div', { class: 'stack' }, h('section', { class: 'card', 'aria-label': 'Why' }, h('div', { class: 'body' }, this.why)), this.steps.node, this.logCard(), this.files.node, this.result.node),
        h('aside', { class: 'stack', 'aria-label': 'About this task' }, this.tries.node, this.facts.node)));
    this.root.append(this.page);
    this.load();
    this.follow();
  }

  follow() {
    const off = this.live.on((e) => {
      if (e.task_id === this.id || e.kind === 'reset') this.load();
      else if (this.task?.status === 'queued') this.explain(); // what it waits for has changed, perhaps
    });
    this.signal.addEventListener('abort', off);
    const timer = setInterval(() => {
      if (!document.hidden && this.task && !over(this.task)) this.load(); // leases are renewed and files come without an event
    }, 5000);
    this.signal.addEventListener('abort', () => clearInterval(timer));
  }

  get names() {
    return { device: (id) => this.devices.get(id) ?? short(id), host: (id) => this.hosts.get(id) ?? short(id) };
  }

  async read() {
    const signal = this.signal;
    try {
      const [task, { attempts }, { artifacts, coming }] = await Promise.all([
        this.api.get(this.path, { signal }), this.api.get(`${this.path}/attempts`, { signal }), this.api.get(`${this.path}/artifacts`, { signal }),
      ]);
      const before = this.task?.status;
      Object.assign(this, { task, attempts, artifacts, coming });
      this.awaitFiles(coming);
      this.explain();
      if (task.workflow && !this.declared) await this.readWorkflow();
      this.draw();
      if (before && before !== task.status) this.announce?.(`The task is ${task.status}.`);
      if (!before) {
        await this.readExplanation(); // it knows names
        this.showLog();
      }
      this.tell('');
    } catch (err) {
      if (signal.aborted) return;
      if (err.status === 404) this.gone(err);
      else this.tell(problemText(err));
    }
  }

  // Files may arrive after the report of their attempt, which no event tells.
  awaitFiles(coming) {
    clearTimeout(this.filesTimer);
    if (!(coming > 0)) return;
    this.filesPause = Math.min(60000, (this.filesPause ?? 800) * 1.4); // a host that is gone sends nothing more
    this.filesTimer = setTimeout(() => this.signal.aborted || this.load(), this.filesPause);
  }

  async readWorkflow() {
    this.declared = [];
    try {
      const w = await this.api.get(`/v1/workflows/${encodeURIComponent(this.task.workflow.name)}?version=${this.task.workflow.version}`, { signal: this.signal });
      this.declared = w.steps ?? [];
    } catch {
      // steps are shown once there are results
    }
  }

  async readExplanation() {
    try {
      const explanation = await this.api.get(`${this.path}/explain`, { signal: this.signal });
      const said = explanation.sentences.join('\n');
      if (said !== this.said) replace(this.why, sentencesOf(explanation));
      this.said = said;
      this.learn([explanation.run?.device, ...explanation.attempts.map((a) => a.device)]);
    } catch (err) {
      if (!this.signal.aborted && !this.said) replace(this.why, h('p', { class: 'muted' }, err.message));
    }
  }

  // Takes names from references.
  learn(references) {
    const known = this.devices.size;
    for (const r of references) {
      if (!r?.id) continue;
      this.devices.set(r.id, r.name);
      this.hosts.set(r.host_id, r.host_name);
    }
    if (this.devices.size === known || !this.task) return;
    this.draw();
    this.log?.draw();
  }

  gone(err) {
    this.page.hidden = false;
    replace(this.page, h('div', { class: 'empty card' }, h('h1', null, 'There is no such task'), h('p', null, err.message), h('a', { class: 'button', href: '/tasks' }, 'All tasks')));
  }

  tell(said) {
    this.page.hidden = false;
    this.failure.hidden = said === '';
    text(this.failure, said);
  }

  draw() {
    const { task, attempts } = this;
    const look = taskLook(task.status);
    const asks = askOf(task);
    this.setTitle?.(`${oneLine(asks, 60)} · ${look.word}`);
    text(this.title, asks);
    this.title.classList.toggle('long', asks.length > 90);
    setBadge(this.badge, look, task.cancel_requested && !over(task) ? 'cancelling' : look.word);
    this.drawActions();
    replace(this.facts.body, factsOf(task, attempts[0], this.names));
    this.tries.node.hidden = attempts.length === 0;
    this.tries.count.textContent = attempts.length > 1 ? String(attempts.length) : '';
    replace(this.tries.body, attemptsOf(attempts, { chosen: this.chosen, names: this.names, choose: (n) => this.choose(n === this.chosen ? 0 : n) }));
    this.drawSteps();
    const result = task.result !== undefined && task.result !== null && stepsIn(task.result).length === 0;
    this.result.node.hidden = !result;
    if (result) replace(this.result.body, resultOf(task.result));
    this.files.node.hidden = this.artifacts.length === 0 && !(this.coming > 0);
    this.files.count.textContent = [plural(this.artifacts.length, 'file'), this.coming > 0 && `${this.coming} on their way`].filter(Boolean).join(', ');
    keyed(this.fileList, [...this.artifacts].sort(byLook), (a) => `${a.attempt} ${a.name} ${a.sha256}`, (a) => artifactNode(this.id, a, { signal: this.signal, several: this.attempts.length > 1 }));
  }

  drawSteps() {
    const steps = stepsIn(this.task.result);
    const declared = this.declared ?? [];
    this.steps.node.hidden = steps.length === 0 && declared.length === 0;
    if (this.steps.node.hidden) return;
    replace(this.steps.body, stepsOf({ steps, declared, current: over(this.task) ? '' : this.currentStep ?? '', show: (s) => this.showStep(s) }));
  }

  drawActions() {
    const key = `${this.task.status} ${this.task.cancel_requested}`;
    if (this.actions.shows === key) return;
    this.actions.shows = key;
    replace(this.actions,
      !over(this.task) && h('button', { class: 'button danger', type: 'button', disabled: this.task.cancel_requested, on: { click: () => this.askCancel() } }, this.task.cancel_requested ? 'Cancelling…' : 'Cancel task'),
      h('a', { class: 'button', href: `/submit?from=${encodeURIComponent(this.id)}` }, 'Submit again'));
  }

  async askCancel() {
    const queued = this.task.status === 'queued';
    const done = await ask({
      title: 'Cancel this task?', does: 'Cancel task', danger: true,
      text: queued ? 'It is queued and ends at once.' : 'Its runner is told to stop, and is stopped if it does not. What it left so far is kept.',
      act: async () => {
        this.task = await this.api.post(`${this.path}/cancel`);
      },
    });
    if (!done || this.signal.aborted) return;
    this.draw();
    this.announce?.(over(this.task) ? 'The task is cancelled.' : 'The cancellation is requested.');
    this.load();
  }

  logCard() {
    this.logTabs = logs.map(([name, word]) => h('button', {
      type: 'button', role: 'tab', id: `log-tab-${name}`, 'aria-controls': 'log-panel', on: { click: () => this.showTab(name), keydown: (e) => this.tabKey(e) },
    }, word));
    this.logOf = h('span', { class: 'small muted nowrap' });
    return h('section', { class: 'card log-card', 'aria-label': 'Log' },
      h('div', { class: 'log-head' }, h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Logs' }, this.logTabs), this.logOf),
      h('div', { id: 'log-panel', role: 'tabpanel' }, this.logBox));
  }

  tabKey(e) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!by) return;
    e.preventDefault();
    const i = logs.findIndex(([name]) => name === this.tab);
    const next = (i + by + logs.length) % logs.length;
    this.showTab(logs[next][0]);
    this.logTabs[next].focus();
  }

  showTab(name) {
    this.tab = name;
    this.setQuery({ log: name === 'runner' ? '' : name });
    this.showLog();
  }

  choose(number) {
    this.chosen = number;
    this.setQuery({ attempt: number || '' });
    this.draw();
    this.showLog();
  }

  showLog() {
    this.logStop?.abort();
    this.logStop = new AbortController();
    const attempt = this.attempts.some((a) => a.number === this.chosen) ? this.chosen : 0;
    for (const [i, [name]] of logs.entries()) {
      const on = name === this.tab;
      this.logTabs[i].setAttribute('aria-selected', String(on));
      this.logTabs[i].tabIndex = on ? 0 : -1;
      if (on) document.getElementById('log-panel')?.setAttribute('aria-labelledby', this.logTabs[i].id);
    }
    this.logOf.textContent = attempt ? `attempt ${attempt} only` : '';
    this.log = new LogView({
      task: this.id, attempt, name: this.tab, label: logs.find(([name]) => name === this.tab)[1], search: this.search,
      signal: AbortSignal.any([this.signal, this.logStop.signal]), searched: (text) => this.searched(text),
      several: () => this.attempts.length > 1,
      deviceOf: (n) => {
        const a = this.attempts.find((x) => x.number === n);
        return a ? ` on ${this.names.device(a.device_id)}` : '';
      },
    });
    this.logBox.replaceChildren(this.log.node);
    this.log.start();
  }

  searched(text) {
    this.search = text;
    clearTimeout(this.writing);
    this.writing = setTimeout(() => this.signal.aborted || this.setQuery({ q: text }), 300);
  }

  showStep(step) {
    if (this.tab !== 'runner') this.showTab('runner');
    const attempt = this.attempts.at(-1)?.number ?? 1;
    if (this.log.showOffset(attempt, step.log_offset)) this.log.node.scrollIntoView({ block: 'nearest', behavior: 'smooth' });
  }
}

function card(title, hidden = false) {
  const body = h('div', { class: 'body' });
  const count = h('span', { class: 'small muted' });
  return { node: h('section', { class: 'card', hidden }, h('header', null, h('h2', null, title), count), body), body, count };
}
