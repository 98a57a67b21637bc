// The theme: the system's, dark or light, kept in the browser.

import { h } from './dom.js';
import { icon } from './icons.js';

const order = ['system', 'dark', 'light'];
const icons = { system: 'system', dark: 'moon', light: 'sun' };

function chosen() {
  return document.documentElement.dataset.theme ?? 'system';
}

function choose(theme) {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    if (theme === 'system') localStorage.removeItem('phonebooth.theme');
    else localStorage.setItem('phonebooth.theme', theme);
  } catch {
    // it is forgotten with the page
  }
}

/** A button that goes through the themes. */
export function themeButton() {
  const button = h('button', { class: 'button ghost icon', type: 'button' });
  const show = () => {
    button.replaceChildren(icon(icons[chosen()]));
    button.title = `Theme: ${chosen()}`;
    button.setAttribute('aria-label', `Theme: ${chosen()}. Change it`);
  };
  button.addEventListener('click', () => {
    choose(order[(order.indexOf(chosen()) + 1) % order.length]);
    show();
  });
  show();
  return button;
}
