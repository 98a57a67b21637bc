// The list of hosts, and what can be done to one.

import { ask } from '../dialogs.js';
import { h } from '../dom.js';
import { count, short, time } from '../format.js';
import { showList } from '../list.js';
import { badge, hostLook } from '../status.js';

export default {
  title: () => 'Hosts',
  mount(root, context) {
    const list = showList(root, {
      context,
      title: 'Hosts',
      filters: [
        { name: 'text', label: 'Text in the name', kind: 'search', hint: 'Search hosts' },
        { name: 'state', label: 'State', kind: 'chips', many: true, options: ['ready', 'silent', 'deaf', 'draining', 'drained'].map((s) => [s, hostLook(s)]) },
        { name: 'id', label: 'Host', kind: 'hidden' },
      ],
      columns: [
        { name: 'State' }, { name: 'Host', class: 'main' }, { name: 'Devices', class: 'num wide' }, { name: 'Busy', class: 'num wide' }, { name: 'Agent', class: 'wide' },
        { name: 'Heard', class: 'nowrap wide' }, { name: 'Registered', class: 'nowrap wider' }, { name: 'Do', hidden: true },
      ],
      key: (host) => host.id,
      cells: (host) => cells(host, context.api, () => list.read()),
      concerns: (e) => e.host_id,
      every: 15000, // an inventory that changes nothing is no event
      async read(values) {
        const { hosts } = await context.api.get('/v1/hosts', { signal: context.signal });
        const states = values.state.split(',').filter(Boolean);
        const low = values.text.toLowerCase();
        return { items: hosts.filter((x) => (!values.id || x.id === values.id) && (!states.length || states.includes(x.state)) && x.name.toLowerCase().includes(low)) };
      },
      empty: (filtered) => (filtered
        ? h('p', null, 'No host is like that.')
        : [h('h2', null, 'There is no host yet'), h('p', null, 'A host is a machine with devices. Enroll one:'),
          h('pre', null, 'phonebooth host enroll --name rack-1\nphonebooth agent --server URL --enroll TOKEN')]),
    });
    return list.end;
  },
};

function cells(host, api, read) {
  const path = `/v1/hosts/${encodeURIComponent(host.id)}`;
  const button = (name, question) => h('button', { class: 'button small', type: 'button', 'aria-label': `${name} ${host.name}`, on: { click: async () => (await ask(question)) && read() } }, name);
  const drains = host.state === 'draining' || host.state === 'drained';
  return [
    badge(hostLook(host.state)),
    h('div', { class: 'list-main' }, h('a', { class: 'cut', href: `/devices?host_id=${encodeURIComponent(host.id)}`, data: { row: '' } }, host.name),
      h('span', { class: 'list-sub cut muted' }, host.state_reason || h('span', { class: 'mono' }, short(host.id)))),
    count(host.devices),
    count(host.running),
    h('span', { class: 'muted' }, host.version || '–'),
    time(host.heard_at, 'ago'),
    time(host.registered_at, 'ago'),
    h('div', { class: 'row end' }, drains
      ? button('Resume', { title: `Let ${host.name} take tasks again?`, text: 'This ends its drain.', does: 'Resume', act: () => api.post(`${path}/resume`) })
      : button('Drain', { title: `Start nothing new on ${host.name}?`, text: 'What runs may end; then the machine can be turned off.', does: 'Drain', act: () => api.post(`${path}/drain`) }),
    h('button', {
      class: 'button small danger', type: 'button', 'aria-label': `Remove ${host.name}`,
      on: {
        click: async () => (await ask({
          title: `Remove ${host.name} from the pool?`, danger: true, does: 'Remove', act: () => api.remove(path),
          text: 'For ever: its token is refused at once, and its devices leave the pool. While one of them holds a task it stays.',
        })) && read(),
      },
    }, 'Remove')),
  ];
}
