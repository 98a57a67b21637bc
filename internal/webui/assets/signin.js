// The screen that asks for the admin token.

import { post } from './api.js';
import { h, replace } from './dom.js';

/**
 * Shows the screen.
 * @param {Element} app the whole page
 * @param {() => void} done is called when somebody has signed in
 */
export function signInScreen(app, done) {
  const status = h('p', { class: 'signin-status', role: 'alert' });
  const input = h('input', {
    class: 'input', id: 'token', name: 'token', type: 'password', autocomplete: 'current-password', required: true, spellcheck: 'false',
    autocapitalize: 'off', 'aria-describedby': 'token-hint',
  });
  const button = h('button', { class: 'button primary', type: 'submit' }, 'Sign in');
  const submit = async (e) => {
    e.preventDefault();
    if (button.disabled) return;
    button.disabled = true;
    status.textContent = '';
    try {
      await post('/sign-in', { token: input.value.trim() });
      input.value = '';
      replace(app);
      done();
    } catch (err) {
      status.textContent = sentence(err);
      input.setAttribute('aria-invalid', 'true');
      input.select();
      input.focus();
    } finally {
      button.disabled = false;
    }
  };
  replace(app, h('main', { class: 'signin' },
    h('form', { class: 'signin-card card', on: { submit } },
      h('div', { class: 'brand' }, mark(), h('span', null, 'Phonebooth')),
      h('h1', null, 'Sign in'),
      h('input', { class: 'sr-only', type: 'text', name: 'username', autocomplete: 'username', value: 'admin', tabindex: '-1', 'aria-hidden': 'true', readonly: true }),
      h('div', { class: 'field' }, h('label', { for: 'token' }, 'Admin token'), input,
        h('p', { class: 'hint', id: 'token-hint' }, 'It is in the file ', h('code', null, 'admin.token'), ' of the server’s data directory, ',
          h('code', null, '.phonebooth/admin.token'), ' under ', h('code', null, 'phonebooth dev'), '.')),
      status, button)));
  input.focus();
}

function sentence(err) {
  const text = err?.detail || 'Something went wrong; try again.';
  return `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}

/** The mark of the brand. */
export function mark() {
  return h('img', { class: 'mark', src: new URL('icon.svg', import.meta.url).pathname, alt: '', width: 24, height: 24 });
}
