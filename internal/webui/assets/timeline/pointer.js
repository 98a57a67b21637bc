// Hands on the timeline: wheel, drag, pinch and keys become zooming and moving.

/**
 * @param {{box: HTMLElement, axis: Element, lane: () => DOMRect, signal: AbortSignal,
 *   zoom: (factor: number, anchor: number) => void, pan: (share: number) => void, between: (from: number, to: number) => void,
 *   marking: (from: number|null, to: number|null) => void}} how
 *   anchor, share, from and to are shares of the width that shows times
 */
export function handle({ box, axis, lane, signal, zoom, pan, between, marking }) {
  const share = (e) => {
    const r = lane();
    return Math.min(1, Math.max(0, (e.clientX - r.left) / r.width));
  };
  box.addEventListener('wheel', (e) => {
    const onAxis = axis.contains(e.target);
    if (e.ctrlKey || e.metaKey || e.altKey || onAxis) {
      e.preventDefault();
      zoom(Math.exp(Math.max(-60, Math.min(60, e.deltaY || e.deltaX)) * 0.006), share(e));
    } else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
      e.preventDefault();
      pan((e.deltaX || e.deltaY) / lane().width);
    }
  }, { passive: false, signal });

  /** @type {Map<number, PointerEvent>} */
  const down = new Map();
  let start = null; // of a drag: {x, share, moved, onAxis}
  let apart = 0;
  box.addEventListener('pointerdown', (e) => {
    if (e.button !== 0 || e.target.closest('.tl-name')) return;
    down.set(e.pointerId, e);
    if (down.size === 2) {
      apart = distance(down);
      start = null;
      return;
    }
    start = { x: e.clientX, share: share(e), moved: false, onAxis: axis.contains(e.target) };
  }, { signal });
  box.addEventListener('pointermove', (e) => {
    if (!down.has(e.pointerId)) return;
    const before = down.get(e.pointerId);
    down.set(e.pointerId, e);
    if (down.size === 2) {
      const now = distance(down);
      if (apart > 0 && now > 0) zoom(apart / now, middle(down, lane()));
      apart = now;
      return;
    }
    if (!start) return;
    if (!start.moved && Math.abs(e.clientX - start.x) < 5) return;
    if (!start.moved) {
      start.moved = true;
      box.setPointerCapture(e.pointerId);
      box.classList.toggle('moving', !start.onAxis);
      if (!start.onAxis) pan((start.x - e.clientX) / lane().width);
    } else if (!start.onAxis) {
      pan((before.clientX - e.clientX) / lane().width);
    }
    if (start.onAxis) marking(Math.min(start.share, share(e)), Math.max(start.share, share(e)));
  }, { signal });
  const up = (e) => {
    if (!down.delete(e.pointerId)) return;
    box.classList.remove('moving');
    const was = start;
    start = null;
    marking(null, null);
    if (!was?.moved) return;
    if (was.onAxis && e.type === 'pointerup' && Math.abs(share(e) - was.share) > 0.01) {
      between(Math.min(was.share, share(e)), Math.max(was.share, share(e)));
    }
    // The click that ends a drag opens nothing.
    const swallow = (click) => {
      click.preventDefault();
      click.stopPropagation();
    };
    box.addEventListener('click', swallow, { capture: true, once: true });
    setTimeout(() => box.removeEventListener('click', swallow, { capture: true }), 0);
  };
  box.addEventListener('pointerup', up, { signal });
  box.addEventListener('pointercancel', up, { signal });
  box.addEventListener('dragstart', (e) => e.preventDefault(), { signal });
}

function distance(down) {
  const [a, b] = [...down.values()];
  return Math.abs(a.clientX - b.clientX);
}

function middle(down, r) {
  const [a, b] = [...down.values()];
  return ((a.clientX + b.clientX) / 2 - r.left) / r.width;
}

/**
 * Keys: arrows go from bar to bar, with Shift they move in time, + and - zoom, 0 and n follow now.
 * @param {KeyboardEvent} e
 * @param {{zoom: (factor: number) => void, pan: (share: number) => void, follow: () => void, step: (dx: number, dy: number) => void,
 *   edge: (end: boolean) => void}} does
 * @returns {boolean} whether the key was one of them
 */
export function key(e, does) {
  if (e.ctrlKey || e.metaKey || e.altKey) return false;
  const shift = e.shiftKey;
  const table = {
    '+': () => does.zoom(1 / 1.5), '=': () => does.zoom(1 / 1.5), '-': () => does.zoom(1.5), _: () => does.zoom(1.5),
    0: does.follow, n: does.follow, Home: () => does.edge(false), End: () => does.edge(true),
    ArrowLeft: () => (shift ? does.pan(-0.2) : does.step(-1, 0)), ArrowRight: () => (shift ? does.pan(0.2) : does.step(1, 0)),
    ArrowUp: () => does.step(0, -1), ArrowDown: () => does.step(0, 1),
  };
  if (!Object.hasOwn(table, e.key)) return false;
  table[e.key]();
  return true;
}
