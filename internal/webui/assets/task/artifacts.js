// What attempts left: a list with sizes and hashes, and what can be shown is shown in place.
//
// The server gives every file as something to save. What is shown here was fetched as bytes and is given to elements that
// run nothing: pictures, films, sounds and text. A picture that could hold a script is shown as a picture only.

import { h } from '../dom.js';
import { bytes } from '../format.js';

const mostShown = 40 << 20; // bytes of one file that are fetched to be shown
const mostText = 256 << 10;

const images = /^image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml)$/;
const films = /^video\/(mp4|webm|ogg|quicktime)$/;
const sounds = /^audio\//;
const texts = /^(text\/|application\/(json|xml|x-ndjson|yaml|x-yaml|javascript))/;
const textNames = /\.(txt|log|json|ndjson|jsonl|xml|ya?ml|md|csv|html?|js|toml|ini|sh|py)$/i;

/** What kind of thing a file is to look at: '' is none. */
export function kindOf(artifact) {
  const type = artifact.content_type.split(';')[0].trim();
  if (images.test(type)) return 'image';
  if (films.test(type)) return 'video';
  if (sounds.test(type)) return 'audio';
  if (texts.test(type) || textNames.test(artifact.name)) return 'text';
  return '';
}

/** The order in which files are shown: the newest attempt's first, and of one attempt what there is to look at. */
export function byLook(a, b) {
  const rank = (x) => ({ image: 0, video: 0, audio: 1, text: 2 })[kindOf(x)] ?? 3;
  return b.attempt - a.attempt || rank(a) - rank(b) || (a.name < b.name ? -1 : 1);
}

/** Where a file is. */
export function hrefOf(task, artifact) {
  const name = artifact.name.split('/').map(encodeURIComponent).join('/');
  return `/v1/tasks/${encodeURIComponent(task)}/artifacts/${artifact.attempt}/${name}`;
}

/**
 * A file with what it shows.
 * @param {string} task
 * @param {any} artifact
 * @param {{signal: AbortSignal, several: boolean}} how several: attempts are told apart
 */
export function artifactNode(task, artifact, { signal, several }) {
  const kind = kindOf(artifact);
  const href = hrefOf(task, artifact);
  const stage = h('div', { class: ['artifact-stage', kind || 'none'] });
  const node = h('li', { class: 'artifact', data: { kind } },
    kind ? stage : null,
    h('div', { class: 'artifact-facts' },
      h('span', { class: 'artifact-name cut', title: artifact.name }, artifact.name),
      h('span', { class: 'small muted nowrap' }, several ? `attempt ${artifact.attempt} · ` : '', bytes(artifact.bytes)),
      h('button', {
        class: 'button ghost small mono', type: 'button', title: `SHA-256 ${artifact.sha256}: copy`, 'aria-label': `Copy the SHA-256 of ${artifact.name}`,
        on: { click: (e) => copy(e.currentTarget, artifact.sha256) },
      }, artifact.sha256.slice(0, 8)),
      h('a', { class: 'button small', href, download: artifact.name.split('/').at(-1), 'aria-label': `Download ${artifact.name}` }, 'Download')));
  if (kind) whenSeen(node, signal, () => fill(stage, kind, artifact, href, signal));
  return node;
}

async function copy(button, text) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'copied';
  } catch {
    button.textContent = 'not copied';
  }
  setTimeout(() => (button.textContent = before), 1500);
}

// Nothing is fetched before it comes near the screen.
function whenSeen(node, signal, f) {
  const watch = new IntersectionObserver((seen) => {
    if (!seen.some((s) => s.isIntersecting)) return;
    watch.disconnect();
    f();
  }, { rootMargin: '400px' });
  watch.observe(node);
  signal.addEventListener('abort', () => watch.disconnect());
}

async function fill(stage, kind, artifact, href, signal) {
  if (artifact.bytes > mostShown && kind !== 'text') {
    stage.append(h('p', { class: 'small muted' }, 'Too large to be shown here.'));
    return;
  }
  try {
    const headers = kind === 'text' && artifact.bytes > mostText ? { Range: `bytes=0-${mostText - 1}` } : {};
    const answer = await fetch(href, { signal, headers, credentials: 'same-origin' });
    if (!answer.ok) throw new Error(String(answer.status));
    if (kind === 'text') {
      const text = new TextDecoder().decode(await answer.arrayBuffer());
      stage.append(h('pre', { class: 'verbatim', tabindex: '0', role: 'group', 'aria-label': artifact.name }, text.slice(0, mostText)));
      if (artifact.bytes > mostText) stage.append(h('p', { class: 'small muted' }, `The first ${bytes(mostText)} of ${bytes(artifact.bytes)}.`));
      return;
    }
    const url = URL.createObjectURL(new Blob([await answer.arrayBuffer()], { type: artifact.content_type }));
    signal.addEventListener('abort', () => URL.revokeObjectURL(url));
    stage.append(shown(kind, url, artifact));
  } catch {
    if (!signal.aborted) stage.append(h('p', { class: 'small muted' }, 'It could not be shown.'));
  }
}

function shown(kind, url, artifact) {
  if (kind === 'video') return h('video', { src: url, controls: true, preload: 'metadata', 'aria-label': artifact.name });
  if (kind === 'audio') return h('audio', { src: url, controls: true, preload: 'metadata', 'aria-label': artifact.name });
  const open = h('button', {
    class: 'artifact-open', type: 'button', 'aria-label': `Enlarge ${artifact.name}`,
    on: { click: () => enlarge(url, artifact) },
  }, h('img', { src: url, alt: artifact.name, decoding: 'async' }));
  return open;
}

function enlarge(url, artifact) {
  const dialog = h('dialog', { class: 'artifact-large', 'aria-label': artifact.name, on: { click: () => dialog.close(), close: () => dialog.remove() } },
    h('img', { src: url, alt: artifact.name }), h('p', { class: 'small muted' }, artifact.name));
  document.body.append(dialog);
  dialog.showModal();
}
