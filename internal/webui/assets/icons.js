// Icons, in a box of 16, drawn with lines.

import { svg } from './dom.js';

const paths = {
  now: 'M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z',
  timeline: 'M2 4h6M5 8h8M3 12h5M10.5 12H14',
  tasks: 'M6 4h8M6 8h8M6 12h8M2.2 4l.9.9L4.6 3.2M2.2 8l.9.9L4.6 7.2M2.2 12l.9.9L4.6 11.2',
  devices: 'M5 1.8h6a1 1 0 0 1 1 1v10.4a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V2.8a1 1 0 0 1 1-1zM7 12h2',
  hosts: 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01',
  workflows: 'M3 2.5h3.5V6H3zM9.5 10H13v3.5H9.5zM6.5 4.2H9a2 2 0 0 1 2 2V10',
  events: 'M2 8h2.5l2-5 3 10 2-5H14',
  submit: 'M8 3v10M3 8h10',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5 14 14',
  sun: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1.2v1.3M8 13.5v1.3M1.2 8h1.3M13.5 8h1.3M3.2 3.2l.9.9M11.9 11.9l.9.9M3.2 12.8l.9-.9M11.9 4.1l.9-.9',
  moon: 'M13.5 9.6A5.8 5.8 0 0 1 6.4 2.5a5.8 5.8 0 1 0 7.1 7.1z',
  system: 'M2 3h12v8H2zM6 14h4M8 11v3',
  out: 'M6.5 2.5H3v11h3.5M10 5l3 3-3 3M13 8H6',
  keys: 'M1.8 4h12.4v8H1.8zM4.5 6.5h.01M7 6.5h.01M9.5 6.5h.01M12 6.5h.01M5 9.5h6',
  close: 'M4 4l8 8M12 4l-8 8',
  more: 'M6 4l4 4-4 4',
};

/** An icon, for where words stand beside it or name it: it is hidden from screen readers. */
export function icon(name) {
  return svg('svg', {
    class: 'icon', viewBox: '0 0 16 16', width: 16, height: 16, fill: 'none', stroke: 'currentColor', 'stroke-width': 1.5,
    'stroke-linecap': 'round', 'stroke-linejoin': 'round', 'aria-hidden': 'true', focusable: 'false',
  }, svg('path', { d: Object.hasOwn(paths, name) ? paths[name] : paths.more }));
}
