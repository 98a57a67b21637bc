// The list of workflows, by name.

import { h } from '../dom.js';
import { time } from '../format.js';
import { showList } from '../list.js';
import { address } from '../router.js';

export default {
  title: () => 'Workflows',
  mount(root, context) {
    return showList(root, {
      context,
      title: 'Workflows',
      filters: [{ name: 'text', label: 'Text in the name', kind: 'search', hint: 'Search workflows' }],
      columns: [{ name: 'Workflow', class: 'main' }, { name: 'Version', class: 'num' }, { name: 'Changed', class: 'nowrap' }, { name: 'Run', hidden: true }],
      key: (w) => w.name,
      cells: (w) => [
        h('a', { class: 'row-link cut', href: address('workflows', w.name), data: { row: '' } }, w.name), String(w.version), time(w.created_at, 'ago'),
        h('div', { class: 'row end' }, h('a', { class: 'button small over-link', href: `/submit?workflow=${encodeURIComponent(w.name)}`, 'aria-label': `Run ${w.name}` }, 'Run')),
      ],
      concerns: (e) => e.kind.startsWith('workflow.'),
      async read(values) {
        const { workflows } = await context.api.get('/v1/workflows', { signal: context.signal });
        return { items: workflows.filter((w) => w.name.toLowerCase().includes(values.text.toLowerCase())) };
      },
      empty: (filtered) => (filtered
        ? h('p', null, 'No workflow is called so.')
        : [h('h2', null, 'There is no workflow yet'), h('p', null, 'A workflow is a list of steps under a name. Write one and apply it:'), h('pre', null, 'phonebooth workflow apply checkout.yaml')]),
    }).end;
  },
};
