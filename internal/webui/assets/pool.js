// The pool as the wall shows it: an overview of the server, and the events since, so that a tile changes the moment that
// something happens and an answer that is a second old takes nothing back.

const kept = 2000; // events, for answers that are older than they
const byName = new Intl.Collator('en', { numeric: true }).compare;

/** The model behind the wall. */
export class Pool {
  constructor() {
    this.overview = null;
    /** @type {Map<string, any>} devices by id, in the order of their names: sim-2 before sim-10 */
    this.devices = new Map();
    this.events = [];
    this.tasks = null;
  }

  /** Takes over an answer of /v1/overview. */
  load(overview) {
    this.overview = overview;
    this.tasks = { ...overview.tasks };
    this.devices = new Map([...overview.devices].sort((a, b) => byName(a.name, b.name)).map((d) => [d.id, d]));
    this.events = this.events.filter((e) => e.pos > overview.pos);
    for (const e of this.events) this.change(e);
  }

  /** Takes over an event. */
  apply(event) {
    if (!(event.pos > 0)) return;
    this.events.push(event);
    if (this.events.length > kept) this.events.splice(0, kept / 2);
    if (this.overview && event.pos > this.overview.pos) this.change(event);
  }

  change(e) {
    const d = this.devices.get(e.device_id);
    const detail = e.detail ?? {};
    switch (e.kind) {
      case 'task.submitted':
        this.count('queued', 1);
        break;
      case 'task.assigned':
        this.count('queued', -1);
        this.count('assigned', 1);
        if (d) this.put(d, { unavailable: 'reserved', since: e.at, reason: '', run: { task_id: e.task_id, attempt: e.attempt, state: 'assigned', brief: '' } });
        break;
      case 'task.dispatched':
        this.count('assigned', -1);
        this.count('dispatched', 1);
        if (d) this.put(d, { unavailable: 'reserved', since: e.at, run: { brief: '', ...d.run, task_id: e.task_id, attempt: e.attempt, state: 'dispatched' } });
        break;
      case 'task.requeued':
        this.count('queued', 1);
        this.freed(d, e);
        break;
      case 'task.done':
      case 'task.failed':
      case 'task.cancelled':
        if (!e.device_id) this.count('queued', -1);
        this.count(e.kind.slice('task.'.length), 1);
        this.freed(d, e);
        break;
      case 'task.cancel_requested':
        if (d?.run?.task_id === e.task_id) this.put(d, { run: { ...d.run, cancel_requested: true } });
        break;
      case 'device.changed':
        if (d && detail.condition) {
          const condition = detail.condition === 'ready' ? '' : `condition:${detail.condition}`;
          if (!d.run && (!d.unavailable || d.unavailable.startsWith('condition:'))) {
            this.put(d, { unavailable: condition, since: e.at, reason: detail.reason ?? '' });
          }
        }
        break;
      case 'device.held':
        if (d && !d.run) this.put(d, { unavailable: detail.hold ?? 'cordoned', since: e.at, reason: detail.reason ?? '' });
        break;
      case 'device.unheld':
        if (d && !d.run && (d.unavailable === 'cordoned' || d.unavailable === 'quarantined')) this.put(d, { unavailable: '', since: e.at, reason: '' });
        break;
      default:
    }
  }

  // A device that a task has left is what its host says next; until then it takes nothing.
  freed(d, e) {
    const state = d?.run?.task_id === e.task_id ? d.run.state : null;
    if (!state) return;
    this.count(state, -1);
    const condition = e.detail?.condition ?? 'cleaning';
    this.put(d, { run: undefined, unavailable: condition === 'ready' ? '' : `condition:${condition}`, since: e.at, reason: '' });
  }

  put(d, changes) {
    this.devices.set(d.id, { ...d, ...changes });
  }

  count(what, by) {
    if (this.tasks) this.tasks[what] = Math.max(0, (this.tasks[what] ?? 0) + by);
  }
}
