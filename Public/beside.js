// Shows the record of the focused or clicked row beside the table. Enter still opens its own page.
// The browser remembers the choice. Narrow windows have no room for it.

import { enableCopying } from './copy.js'
import { keysAreOn } from './keys.js'
import { enableTimes } from './times.js'

const storageKey = 'beside'
const wide = matchMedia('(min-width: 1100px) and (min-height: 521px)')

export function enableBeside() {
  const answer = document.querySelector('.answer:has(> table[data-cells])')
  const foot = document.querySelector('.sheet .foot')
  if (!answer || !foot) return
  const beside = new Beside(answer)
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = 'Side panel'
  button.title = 'Show the record of the selected row beside the table'
  button.dataset.beside = ''
  const tell = () => { button.ariaPressed = String(beside.isOn) }
  const turn = () => {
    if (!wide.matches) return
    beside.turn(!beside.isOn)
    keep(beside.isOn)
    tell()
  }
  button.addEventListener('click', turn)
  foot.querySelector('.spacer').before(button)
  document.addEventListener('keydown', event => {
    // After g, the letter leads to a page.
    if (event.defaultPrevented || event.key !== 'v' || !keysAreOn() || event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return
    if (event.target.closest('input:not([type=checkbox]), textarea, select, [contenteditable]')) return
    event.preventDefault()
    turn()
  })
  // Enter opens the record from the panel too, and where nothing has the focus.
  document.addEventListener('keydown', event => {
    if (event.key !== 'Enter' || event.defaultPrevented || !keysAreOn() || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return
    if (beside.isOn && wide.matches && [document.body, beside.panel].includes(event.target)) beside.row?.querySelector('th.name > a').click()
  })
  if (wide.matches && kept()) beside.turn(true)
  tell()
}

class Beside {
  constructor(answer) {
    this.answer = answer
    this.isOn = false
    this.pages = new Map()
    answer.addEventListener('focusin', event => this.isOn && this.show(event.target.closest('tbody tr')))
    answer.addEventListener('saved', event => {
      const row = event.target.closest('tr')
      this.pages.delete(row.querySelector('th.name > a').href)
      if (!this.isOn || row !== this.row) return
      this.row = null
      this.show(row)
    })
    answer.addEventListener('click', event => {
      const link = event.target.closest('tbody th.name > a')
      // The key Enter clicks too, without a click of the pointer to count.
      if (!this.isOn || !wide.matches || !link || event.detail === 0 || event.ctrlKey || event.metaKey || event.shiftKey) return
      event.preventDefault()
      this.show(link.closest('tr'))
    })
  }

  turn(on) {
    this.isOn = on
    if (on) {
      this.open()
      this.show(this.answer.querySelector('tbody tr:focus-within') ?? this.answer.querySelector('tbody tr:has(> th.name > a)'))
    } else {
      this.mark(null)
      this.panel.remove()
    }
  }

  open() {
    if (!this.panel) {
      this.panel = document.createElement('section')
      this.panel.className = 'sidepanel'
      this.panel.tabIndex = 0
      this.panel.ariaLabel = 'Record beside the table'
      // Moving the table loses its position.
      const { scrollTop, scrollLeft, ownerDocument: { activeElement } } = this.answer
      const split = document.createElement('div')
      split.className = 'split'
      this.answer.before(split)
      split.append(this.answer)
      this.answer.scrollTo(scrollLeft, scrollTop)
      if (this.answer.contains(activeElement)) activeElement.focus({ preventScroll: true })
    }
    this.answer.after(this.panel)
  }

  mark(row) {
    this.row?.removeAttribute('aria-current')
    this.row = row
    row?.setAttribute('aria-current', 'true')
  }

  async show(row) {
    const link = row?.querySelector('th.name > a')
    // Groups, and names without a record, have none.
    if (!link || row === this.row) return
    this.mark(row)
    this.panel.ariaBusy = 'true'
    const parts = await this.page(link.href)
    // Another row may have got the focus meanwhile.
    if (this.row !== row) return
    this.panel.ariaBusy = 'false'
    this.panel.replaceChildren(this.heading(link), ...parts.map(part => document.importNode(part, true)))
    this.panel.scrollTo(0, 0)
    enableTimes(this.panel)
    enableCopying(this.panel)
  }

  heading(link) {
    const heading = document.createElement('h2')
    const there = Object.assign(document.createElement('a'), { href: link.href, title: 'Open the page of the record' })
    there.append(...[...link.childNodes].map(node => node.cloneNode(true)))
    heading.append(there)
    return heading
  }

  // The fields and the system fields of a record's page.
  async page(href) {
    if (!this.pages.has(href)) {
      try {
        const answer = await fetch(href, { headers: { Accept: 'text/html' } })
        const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
        const parts = [...page.querySelectorAll('main > .tabbed > .columns > section')]
        if (parts.length === 0) throw new Error('no record')
        // The page of the record has the rest. Identifiers exist only once in a page.
        for (const rest of parts.slice(1).flatMap(part => [...part.querySelectorAll(':scope > :not(h2:first-child, .facts)')])) rest.remove()
        for (const named of parts.flatMap(part => [...part.querySelectorAll('[id]')])) named.removeAttribute('id')
        this.pages.set(href, parts)
      } catch {
        return [Object.assign(document.createElement('p'), { className: 'remark', textContent: 'The record can’t be shown here. Its own page says why.' })]
      }
    }
    return this.pages.get(href)
  }
}

function kept() {
  try { return localStorage.getItem(storageKey) === 'on' } catch { return false }
}

function keep(on) {
  try {
    if (on) localStorage.setItem(storageKey, 'on')
    else localStorage.removeItem(storageKey)
  } catch { /* Without storage, the choice applies only to this page. */ }
}
