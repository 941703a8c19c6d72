// Keyboard shortcuts, listed under ?. Inactive during text input.

import { keysAreOn, turnKeys } from './keys.js'

// Returns what shows the button of the list, which says that all scripts of the page are ready.
export function enableShortcuts() {
  const dialog = document.querySelector('dialog[data-shortcuts]')
  if (!dialog) return
  const pages = new Map([...dialog.querySelectorAll('a[data-key]')].map(link => [link.dataset.key, link]))
  const button = document.querySelector('[data-shortcuts-open]')
  button.addEventListener('click', () => dialog.showModal())
  dialog.querySelector('[data-close]').addEventListener('click', () => dialog.close())

  const keys = dialog.querySelector('[data-keys]')
  keys.checked = keysAreOn()
  keys.addEventListener('change', () => turnKeys(keys.checked))

  // The row that had the focus last, for the time when nothing in the table has it.
  let left = null
  // True after g, until the next key, click or change of focus. There is no time limit: some people and machines are slow.
  let goes = false
  document.addEventListener('focusin', event => {
    left = event.target.closest('main tbody tr') ?? left
    goes = false
  })
  document.addEventListener('pointerdown', () => { goes = false })
  const actions = {
    '?': () => dialog.showModal(),
    g: () => { goes = true },
    j: () => step(1, left),
    k: () => step(-1, left),
    x: tick,
    n: () => follow('a[rel~=next]'),
    p: () => follow('a[rel~=prev]'),
  }
  document.addEventListener('keydown', event => {
    // A page that begins in an input has keys, too.
    if (event.key === 'Escape' && event.target.matches('[autofocus]')) event.target.blur()
    if (!keysAreOn() || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
    if (document.querySelector('dialog[open]') || event.target.closest('input:not([type=checkbox]), textarea, select, [contenteditable]')) return
    const page = goes ? pages.get(event.key) : undefined
    goes = false
    const action = page ? () => page.click() : actions[event.key]
    if (!action) return
    event.preventDefault()
    action()
  })
  return () => { button.hidden = false }
}

// Moves the focus between the links in row headers, from the row with the focus, the one shown beside, or the one left.
function step(by, left) {
  const links = [...document.querySelectorAll('main tbody th a')].filter(link => link.offsetParent !== null)
  if (links.length === 0) return
  const starts = [document.activeElement?.closest('tr'), document.querySelector('main tr[aria-current]'), left]
  const at = starts.map(row => links.findIndex(link => link.closest('tr') === row)).find(index => index >= 0) ?? -1
  const to = at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + by, 0), links.length - 1)
  // The name of a record stays in place: only its row moves, up or down.
  links[to].focus({ preventScroll: true })
  links[to].closest('tr').scrollIntoView({ block: 'nearest' })
}

function tick() {
  document.activeElement?.closest('tr')?.querySelector('input[type=checkbox]')?.click()
}

function follow(selector) {
  document.querySelector(`main ${selector}`)?.click()
}
