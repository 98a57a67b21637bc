// Builds elements. Text of others becomes text nodes and attribute values, never markup: nothing here parses HTML.

/**
 * @typedef {Node|string|number|boolean|null|undefined|Child[]} Child
 * @typedef {Object<string, any>} Props
 *   `class`: text, or a list whose falsy entries are left out; `on`: {click: f}; `style`: {width: '3px', '--x': 1};
 *   `data`: {status: 'done'}; `value`, `checked` and the like are set as properties; true is an empty attribute;
 *   false, null and undefined are left out; all else is an attribute.
 */

const SVG = 'http://www.w3.org/2000/svg';
const read = new Set(['title', 'aria-label', 'alt', 'placeholder']); // attributes that people read
const asProperty = new Set(['value', 'checked', 'selected', 'indeterminate', 'disabled', 'open']);

/**
 * Text without the marks that turn the direction of what stands behind them: each is seen as a mark, as in the CLI.
 * Everything of others that is shown goes through here; a link or the value of a field does not.
 * @param {any} value
 * @returns {string}
 */
export function visible(value) {
  return String(value).replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
}

/**
 * An HTML element.
 * @param {string} tag
 * @param {Props|null} [props]
 * @param {...Child} children
 * @returns {HTMLElement}
 */
export function h(tag, props, ...children) {
  return build(document.createElement(tag), props, children);
}

/**
 * An SVG element.
 * @param {string} tag
 * @param {Props|null} [props]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function svg(tag, props, ...children) {
  return build(document.createElementNS(SVG, tag), props, children);
}

function build(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) set(node, name, value);
  append(node, children);
  return node;
}

/** Sets what `props` of an element may hold, also on one that exists. */
export function set(node, name, value) {
  if (name === 'on') {
    for (const [event, f] of Object.entries(value)) if (f) node.addEventListener(event, f);
  } else if (name === 'style') {
    for (const [property, v] of Object.entries(value)) {
      if (property.startsWith('--')) node.style.setProperty(property, v);
      else node.style[property] = v;
    }
  } else if (name === 'data') {
    for (const [key, v] of Object.entries(value)) {
      if (v === null || v === undefined) delete node.dataset[key];
      else if (node.dataset[key] !== String(v)) node.dataset[key] = v;
    }
  } else if (name === 'class') {
    node.setAttribute('class', Array.isArray(value) ? value.filter(Boolean).join(' ') : value ?? '');
  } else if (asProperty.has(name) && name in node) {
    node[name] = value ?? '';
  } else if (value === false || value === null || value === undefined) {
    node.removeAttribute(name);
  } else {
    node.setAttribute(name, value === true ? '' : read.has(name) ? visible(value) : String(value));
  }
}

function append(node, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(node, child);
    else if (child instanceof Node) node.append(child);
    else if (child !== null && child !== undefined && typeof child !== 'boolean') node.append(visible(child));
  }
}

/**
 * Puts children in the place of what a node holds.
 * @param {Element} node
 * @param {...Child} children
 */
export function replace(node, ...children) {
  const fresh = document.createDocumentFragment();
  append(fresh, children);
  node.replaceChildren(fresh);
  return node;
}

/** Sets a node's text, and touches nothing when it is there already. */
export function text(node, value) {
  const wanted = value === null || value === undefined ? '' : visible(value);
  if (node.textContent !== wanted) node.textContent = wanted;
  return node;
}

/**
 * Brings a node's children in line with a list, by key: those that stay keep their elements, focus and scroll position.
 * @template T
 * @param {Element} parent holds nothing else
 * @param {T[]} items
 * @param {(item: T) => string} key
 * @param {(item: T) => Element} make
 * @param {(node: Element, item: T) => void} [update] of one that was there already
 */
export function keyed(parent, items, key, make, update) {
  const old = parent.keyed ?? new Map();
  const now = new Map();
  for (const item of items) {
    const k = key(item);
    if (now.has(k)) continue;
    let node = old.get(k);
    if (node) update?.(node, item);
    else node = make(item);
    now.set(k, node);
  }
  for (const child of [...parent.childNodes]) {
    if (now.get(child.keyedBy) !== child) child.remove();
  }
  let at = parent.firstChild;
  for (const [k, node] of now) {
    node.keyedBy = k;
    if (node === at) at = at.nextSibling;
    else parent.insertBefore(node, at);
  }
  parent.keyed = now;
}

/**
 * Calls f once in the next frame, however often the result is called before.
 * @param {() => void} f
 */
export function perFrame(f) {
  let wanted = false;
  return () => {
    if (wanted) return;
    wanted = true;
    requestAnimationFrame(() => {
      wanted = false;
      f();
    });
  };
}

/**
 * Calls the async f, at most once at a time and with a pause between two calls; calls in between become one more.
 * @param {() => Promise<void>} f handles its own errors
 * @param {number} pause in milliseconds
 * @param {AbortSignal} signal ends it
 */
export function paced(f, pause, signal) {
  let running = false;
  let again = false;
  return async function call() {
    if (running) {
      again = true;
      return;
    }
    running = true;
    do {
      again = false;
      if (signal.aborted) break;
      await f();
      if (!signal.aborted) await new Promise((done) => setTimeout(done, pause));
    } while (again && !signal.aborted);
    running = false;
  };
}
