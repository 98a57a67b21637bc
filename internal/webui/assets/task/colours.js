// Which colours a run of a log has on the screen. A colour alone is one of the theme's palette, so that it can be read on the
// theme's ground; text on a ground of its own has exactly the colours that the program meant, or ink that can be read there.

// The palette that terminals have.
const terminal = [
  '#1b1f24', '#cd3131', '#0d8f5b', '#b98900', '#2472c8', '#a13fb0', '#0f8ea8', '#d5dae0', '#5c6773', '#f05b5b', '#23d18b', '#f0d34f', '#4f9cf5', '#d670d6',
  '#29c0db', '#ffffff',
];

const named = /^c(\d{1,2})$/;

function exact(colour) {
  const n = named.exec(colour);
  return n ? terminal[Number(n[1])] : colour.startsWith('#') ? colour : '';
}

/** Ink that can be read on a ground, given as #rrggbb. */
export function inkOn(ground) {
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(ground.slice(i, i + 2), 16) / 255).map((v) => (v <= 0.04 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? '#0d1117' : '#ffffff';
}

/**
 * @param {import('./ansi.js').Run} run
 * @returns {{style: {color?: string, backgroundColor?: string}, names: string[]}} for the element: exact colours, and classes for the theme's
 */
export function coloursOf(run) {
  const style = {};
  const names = [];
  const ground = run.bg ? exact(run.bg) : '';
  if (ground) {
    style.backgroundColor = ground;
    style.color = (run.fg && exact(run.fg)) || inkOn(ground);
    return { style, names };
  }
  if (run.bg) names.push(`bg-${run.bg}`);
  if (run.fg?.startsWith('#')) style.color = `color-mix(in oklab, ${run.fg} 65%, var(--text))`;
  else if (run.fg) names.push(`fg-${run.fg}`);
  return { style, names };
}
