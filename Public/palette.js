// Ctrl-K and / open the search box as a palette: the server lists what the text may mean.

import { keysAreOn } from './keys.js'
import { placesLike } from './places.js'

// The pause in milliseconds after which typed text is looked up.
const pause = 120

export function enablePalette() {
  const box = document.querySelector('[data-find]')
  if (!box) return
  const palette = new Palette(box)
  document.addEventListener('keydown', event => {
    if (event.isComposing || document.querySelector('dialog[open]')) return
    const isCommand = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === 'k'
    const isKey = event.key === '/' && keysAreOn() && !event.ctrlKey && !event.metaKey && !event.altKey
      && !event.target.closest('input, textarea, select, [contenteditable]')
    if (!isCommand && !isKey) return
    event.preventDefault()
    palette.open()
  })
  // The keyboard reaches the box too, which works without the palette.
  box.addEventListener('click', () => palette.open(box.value))
}

class Palette {
  #timer = null
  #abort = null

  constructor(box) {
    this.form = box.form
    this.dialog = document.createElement('dialog')
    this.dialog.className = 'palette'
    this.dialog.setAttribute('aria-label', 'Find')
    // The form leads to the same page as the box, with the same fields.
    const form = this.form.cloneNode(true)
    form.className = ''
    for (const ornament of form.querySelectorAll('kbd, svg')) ornament.remove()
    this.input = form.querySelector('[data-find]')
    this.input.removeAttribute('data-find')
    this.found = document.createElement('div')
    this.found.className = 'hits'
    this.said = document.createElement('p')
    this.said.className = 'hidden'
    this.said.setAttribute('role', 'status')
    this.dialog.append(form, this.found, this.said)
    document.body.append(this.dialog)
    this.input.addEventListener('input', () => this.#wait())
    form.addEventListener('submit', event => this.#submit(event))
    this.dialog.addEventListener('keydown', event => this.#step(event))
    this.dialog.addEventListener('close', () => this.#abort?.abort())
  }

  open(text = '') {
    this.input.value = text
    this.dialog.showModal()
    this.input.select()
    this.#look()
  }

  #wait() {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#look(), pause)
  }

  async #look() {
    clearTimeout(this.#timer)
    this.#abort?.abort()
    const abort = this.#abort = new AbortController()
    const text = this.input.value.trim()
    try {
      const answer = await fetch(`${this.form.getAttribute('action')}/list?${this.#parameters()}`, { headers: { Accept: 'text/html' }, signal: abort.signal })
      // The session has expired.
      if (answer.status === 401) return location.reload()
      if (!answer.ok) throw new Error('no page')
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
      if (abort.signal.aborted) return
      this.#show(text, page.querySelector('main .hits'))
    } catch {
      // Enter leads to the page that lists the same.
      if (!abort.signal.aborted) this.found.replaceChildren()
    }
  }

  #parameters() {
    const parameters = new URLSearchParams(new FormData(this.form))
    parameters.set('q', this.input.value.trim())
    return parameters
  }

  #show(text, found) {
    const parts = found ? [...found.childNodes].map(part => document.importNode(part, true)) : []
    const recent = places(placesLike(text))
    // A result that has the focus goes. Keys then still reach the palette.
    if (this.found.contains(document.activeElement)) this.input.focus()
    this.found.replaceChildren(...text === '' ? [recent, ...parts] : [...parts, recent])
    this.found.scrollTop = 0
    this.found.dataset.text = text
    const count = this.#links().length
    this.said.textContent = count === 1 ? '1 result' : `${count} results`
  }

  #links() { return [...this.found.querySelectorAll('a')] }

  // Enter opens the first result. The page decides about a text whose results have not come, or that has none.
  #submit(event) {
    const first = this.#links()[0]
    const text = this.input.value.trim()
    if (!first || text === '' || this.found.dataset.text !== text) return
    event.preventDefault()
    first.click()
  }

  // The arrow keys move between the box and the results. Letters go on in the box.
  #step(event) {
    const stops = [this.input, ...this.#links()]
    const at = stops.indexOf(document.activeElement)
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    // A search box would only be cleared.
    if (event.key === 'Escape') {
      event.preventDefault()
      this.dialog.close()
    } else if (by !== undefined) {
      event.preventDefault()
      stops[Math.min(Math.max(at + by, 0), stops.length - 1)].focus()
    } else if (at > 0 && event.key.length === 1 && event.key !== ' ' && !event.ctrlKey && !event.metaKey && !event.altKey) {
      this.input.focus()
    }
  }
}

// The list of places that were visited before.
function places(entries) {
  const section = document.createElement('section')
  section.hidden = entries.length === 0
  const heading = document.createElement('h2')
  heading.textContent = 'Recent places'
  const list = document.createElement('ul')
  list.append(...entries.map(entry => {
    const item = document.createElement('li')
    const link = document.createElement('a')
    link.href = entry.href
    const name = document.createElement('bdi')
    const [first, about, ...rest] = entry.title.split(' · ')
    name.textContent = first
    const note = document.createElement('small')
    note.textContent = [about, entry.text, ...rest].filter(part => part).join(' · ')
    link.append(name, ' ', note)
    item.append(link)
    return item
  }))
  section.append(heading, list)
  return section
}
