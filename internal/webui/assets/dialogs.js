// Questions before something is done.

import { problemNotice } from './describe.js';
import { h, replace } from './dom.js';

let numbers = 0;

/**
 * Asks whether to do something, and does it.
 * @param {{title: string, text: string, does: string, danger?: boolean, reason?: string, act: (reason: string) => Promise<any>}} question
 *   reason: the label of a line to be written, none when it is left out
 * @returns {Promise<boolean>} whether it was done
 */
export function ask({ title, text, does, danger = false, reason, act }) {
  return new Promise((resolve) => {
    const n = ++numbers;
    let done = false;
    const problem = h('div');
    const input = reason && h('input', { class: 'input', id: `reason-${n}`, maxlength: 1024, autocomplete: 'off' });
    const go = h('button', { class: ['button', danger ? 'danger' : 'primary'], type: 'submit' }, does);
    const submit = async (e) => {
      e.preventDefault();
      go.disabled = true;
      try {
        await act(input ? input.value.trim() : '');
        done = true;
        dialog.close();
      } catch (err) {
        replace(problem, problemNotice(err));
        go.disabled = false;
      }
    };
    const dialog = h('dialog', { 'aria-labelledby': `ask-${n}`, on: { close: () => { dialog.remove(); resolve(done); } } },
      h('form', { on: { submit } }, h('h2', { id: `ask-${n}` }, title), h('p', null, text),
        input && h('div', { class: 'field' }, h('label', { for: `reason-${n}` }, reason), input), problem,
        h('div', { class: 'actions' }, h('button', { class: 'button', type: 'button', on: { click: () => dialog.close() } }, 'Keep as it is'), go)));
    document.body.append(dialog);
    dialog.showModal();
  });
}
