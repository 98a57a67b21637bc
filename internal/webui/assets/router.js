// Moves between views without loading the page anew. Every view has an address; filters, tab and zoom are in its query.

let changed = () => {};

/** Where the page is: {path, query}. */
export function here() {
  return { path: location.pathname, query: Object.fromEntries(new URLSearchParams(location.search)) };
}

/**
 * Goes to another address of the dashboard.
 * @param {string} url
 * @param {{replace?: boolean}} [options] replace: without an entry of its own in the history
 */
export function navigate(url, { replace = false } = {}) {
  const to = new URL(url, location.href);
  if (to.origin !== location.origin) {
    location.assign(to);
    return;
  }
  if (to.href === location.href) replace = true;
  history[replace ? 'replaceState' : 'pushState'](null, '', to);
  changed({ moved: !replace });
}

/**
 * Changes the query of this address and leaves the view where it is: it is not mounted again. Empty values go.
 * @param {Object<string, any>} values
 */
export function setQuery(values) {
  const to = new URL(location.href);
  for (const [name, value] of Object.entries(values)) {
    to.searchParams.delete(name);
    for (const v of Array.isArray(value) ? value : [value]) {
      if (v !== undefined && v !== null && v !== '' && v !== false) to.searchParams.append(name, v);
    }
  }
  if (to.href !== location.href) history.replaceState(null, '', to);
}

/**
 * What a route's pattern finds in a path, or null: match('/tasks/:id', '/tasks/a%20b') is {id: 'a b'}.
 * @param {string} pattern
 * @param {string} path
 */
export function match(pattern, path) {
  const want = pattern.split('/');
  const got = path.split('/');
  if (want.length !== got.length) return null;
  const found = {};
  for (const [i, part] of want.entries()) {
    if (!part.startsWith(':')) {
      if (part !== got[i]) return null;
      continue;
    }
    try {
      found[part.slice(1)] = decodeURIComponent(got[i]);
    } catch {
      return null;
    }
    if (got[i] === '') return null;
  }
  return found;
}

/** The address of a thing: address('tasks', id). */
export function address(kind, id) {
  return `/${kind}/${encodeURIComponent(id)}`;
}

/**
 * Takes links of the dashboard over, and tells f of every move.
 * @param {(how: {moved: boolean}) => void} f
 */
export function start(f) {
  changed = f;
  addEventListener('popstate', () => f({ moved: true }));
  document.addEventListener('click', (e) => {
    const link = e.target instanceof Element ? e.target.closest('a[href]') : null;
    if (!link || e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    if (link.target || link.hasAttribute('download') || link.origin !== location.origin || !ours(link.pathname)) return;
    if (link.hash && link.pathname === location.pathname && link.search === location.search) return;
    e.preventDefault();
    navigate(link.href);
  });
}

// What the API and the operators' pages answer is loaded, not routed.
function ours(path) {
  return !/^\/(v1|assets|metrics|healthz|readyz|openapi\.json)(\/|$)/.test(path);
}
