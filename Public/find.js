// The key / focuses the search box.

import { keysAreOn } from './keys.js'

export function enableFinding() {
  const box = document.querySelector('[data-find]')
  if (!box) return
  document.addEventListener('keydown', event => {
    if (event.key !== '/' || !keysAreOn() || event.ctrlKey || event.metaKey || event.altKey) return
    if (event.target.closest('input, textarea, select, [contenteditable]')) return
    event.preventDefault()
    box.focus()
    box.select()
  })
}
