// The list of devices, the oldest registration first.

import { withQuery } from '../api.js';
import { h } from '../dom.js';
import { short, time } from '../format.js';
import { showList } from '../list.js';
import { hostChoices, hostLink } from '../names.js';
import { address } from '../router.js';
import { badge, deviceLook, deviceLooks } from '../status.js';

export default {
  title: () => 'Devices',
  mount(root, context) {
    return showList(root, {
      context,
      title: 'Devices',
      pageSize: 100,
      filters: [
        {
          name: 'state', label: 'State', kind: 'chips', many: true,
          options: [['idle', deviceLooks.idle], ['busy', deviceLooks.reserved], ['unavailable', { tone: 'warn', icon: 'bars', word: 'unavailable' }]],
        },
        { name: 'text', label: 'Text in name, host, tags and attributes', kind: 'search', hint: 'Search names, tags, attributes' },
        { name: 'tag', label: 'Tags', kind: 'text', hint: 'Tag, as api:34' },
        { name: 'host_id', label: 'Host', kind: 'select', load: hostChoices },
        { name: 'hold', label: 'Hold', kind: 'select', options: [['cordoned', 'cordoned'], ['quarantined', 'quarantined']] },
        { name: 'driver_type', label: 'Driver', kind: 'hidden' },
      ],
      columns: [
        { name: 'State' }, { name: 'Device', class: 'named' }, { name: 'Driver', class: 'wide' }, { name: 'Host', class: 'wide' }, { name: 'Tags', class: 'wider' },
        { name: 'What it does', class: 'main wide' }, { name: 'Since', class: 'num nowrap' },
      ],
      key: (d) => d.id,
      cells,
      concerns: (e) => e.device_id || e.kind.startsWith('host.'),
      async read(values, cursor, limit) {
        const { tag, ...rest } = values;
        const got = await context.api.get(withQuery('/v1/devices', { ...rest, tag: tag.split(/[\s,]+/), cursor, limit }), { signal: context.signal });
        return { items: got.devices, next: got.next };
      },
      empty: (filtered) => (filtered
        ? h('p', null, 'No device is like that.')
        : [h('h2', null, 'There is no device yet'), h('p', null, 'Plug in a phone where an agent runs, try simulated ones, or enroll another machine:'),
          h('pre', null, 'phonebooth dev --sim 4\nphonebooth host enroll --name rack-1')]),
    }).end;
  },
};

function cells(d) {
  const look = deviceLook(d);
  const held = d.hold !== 'none' && look.word !== d.hold ? ` · ${d.hold}` : '';
  return [
    badge(look),
    h('a', { class: 'row-link cut', href: address('devices', d.id), data: { row: '' } }, d.name || short(d.id)),
    d.driver_type,
    hostLink(d.host_id),
    h('span', { class: 'tags' }, d.tags.slice(0, 4).map((t) => h('span', { class: 'tag' }, t)), d.tags.length > 4 && h('span', { class: 'small muted' }, `+${d.tags.length - 4}`)),
    h('div', { class: 'cut' }, d.task_id ? h('a', { class: 'over-link mono', href: address('tasks', d.task_id) }, short(d.task_id)) : h('span', { class: 'muted' }, reasonOf(d)), held),
    time(d.hold !== 'none' ? d.hold_since : d.condition_since, 'since'),
  ];
}

function reasonOf(d) {
  return (d.hold !== 'none' ? d.hold_reason : d.condition_reason) ?? '';
}
