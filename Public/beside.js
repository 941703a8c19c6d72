// The drawer: the record of the focused or clicked row beside the table, with the parts of the record's page. Enter opens that page.
// The browser remembers the choice. Narrow windows have no room for it.

import { enableFields, refreshRow } from './celledit.js'
import { enableCopying } from './copy.js'
import { keysAreOn } from './keys.js'
import { enablePreviews } from './preview.js'
import { enableTimes } from './times.js'
import { enableUploads } from './upload.js'

const storageKey = 'beside'
const rowsKey = 'table'
const fits = matchMedia('(min-width: 860px) and (min-height: 521px)')
// Where there is less room, it lies over the table, so it only opens when asked.
const fitsBeside = matchMedia('(min-width: 1180px) and (min-height: 521px)')

const typing = 'input:not([type=checkbox]), textarea, select, [contenteditable]'
const icons = { previous: 'm4 10 4-4 4 4', next: 'm4 6 4 4 4-4', close: 'm4 4 8 8M12 4l-8 8' }

export function enableBeside() {
  const answer = document.querySelector('.answer:has(> table[data-cells])')
  const foot = document.querySelector('.sheet .foot')
  if (!answer || !foot) return showNeighbours()
  const button = Object.assign(document.createElement('button'), { type: 'button', textContent: 'Side panel', title: 'Show the record of the selected row beside the table' })
  button.dataset.beside = ''
  const beside = new Beside(answer, () => {
    button.ariaPressed = String(beside.isOn)
    keep(beside.isOn)
  })
  const turn = () => fits.matches && beside.turn(!beside.isOn)
  button.ariaPressed = 'false'
  button.addEventListener('click', turn)
  foot.querySelector('.spacer').before(button)
  document.addEventListener('keydown', event => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open], :popover-open')) return
    if (event.target.closest(typing)) return
    if (event.key === 'Escape' && beside.isOn && fits.matches && !document.querySelector(':is(.at, .pick)[open]')) beside.leave()
    // After g, the letter leads to a page.
    else if (event.key === 'v' && keysAreOn()) turn()
    // Enter opens the record from the drawer too, and where nothing has the focus.
    else if (event.key === 'Enter' && keysAreOn() && !event.shiftKey && beside.isOn && fits.matches && (event.target === beside.panel || event.target.matches('body, .notice'))) beside.link?.click()
    else return
    event.preventDefault()
  })
  if (fitsBeside.matches && kept()) beside.turn(true)
  addEventListener('pagehide', () => keepRows(beside.rows))
}

class Beside {
  constructor(answer, tell) {
    this.answer = answer
    this.tell = tell
    this.isOn = false
    this.pages = new Map()
    this.panel = Object.assign(document.createElement('section'), { className: 'drawer', tabIndex: 0, ariaLabel: 'Record beside the table' })
    this.panel.addEventListener('click', event => {
      const part = event.target.closest('a[href^="#"]')?.hash
      if (!part || !this.panel.querySelector(part)) return
      event.preventDefault()
      this.turnTo(part)
    })
    answer.addEventListener('focusin', event => this.isOn && this.show(event.target.closest('tbody tr')))
    answer.addEventListener('saved', event => this.renew(event.target.closest('tr')))
    answer.addEventListener('click', event => {
      const link = event.target.closest('tbody th.name > a')
      // The key Enter clicks too, without a click of the pointer to count.
      if (!this.isOn || !fits.matches || !link || event.detail === 0 || event.ctrlKey || event.metaKey || event.shiftKey) return
      event.preventDefault()
      this.show(link.closest('tr'))
    })
  }

  get link() { return this.row?.querySelector('th.name > a') }

  get rows() { return [...this.answer.querySelectorAll('tbody tr:has(> th.name > a)')] }

  turn(on) {
    this.isOn = on
    document.documentElement.toggleAttribute('data-drawer', on)
    if (on) {
      this.answer.closest('main').after(this.panel)
      this.show(this.answer.querySelector('tbody tr:focus-within') ?? this.rows[0])
    } else {
      this.mark(null)
      this.panel.remove()
    }
    this.tell()
  }

  // Closes it, and leaves the focus at the row it showed.
  leave() {
    const { link } = this
    this.turn(false)
    link?.focus()
  }

  mark(row) {
    this.row?.removeAttribute('aria-current')
    this.row = row
    row?.setAttribute('aria-current', 'true')
  }

  async renew(row) {
    const link = row.querySelector('th.name > a')
    this.pages.delete(link.href)
    if (!this.isOn || row !== this.row) return
    this.row = null
    await this.show(row)
  }

  async show(row) {
    const link = row?.querySelector('th.name > a')
    // Groups, and names without a record, have none.
    if (!link || row === this.row) return
    this.mark(row)
    this.panel.ariaBusy = 'true'
    if (!this.panel.firstChild) {
      const header = document.createElement('header')
      header.append(this.tools(link))
      this.panel.append(header)
    }
    const asked = this.page(link.href)
    const page = await asked
    // The record may have been saved meanwhile, and asked for again.
    if (this.pages.get(link.href) !== asked) return
    if (!page) this.pages.delete(link.href)
    // Another row may have got the focus meanwhile.
    if (this.row !== row) return
    this.panel.ariaBusy = 'false'
    const [title, tabs, body, ...rest] = (page ?? [trouble()]).map(part => document.importNode(part, true))
    const header = document.createElement('header')
    const held = this.panel.querySelector(':scope > header :focus')?.ariaLabel
    header.append(this.tools(link), ...title.childNodes)
    this.panel.replaceChildren(...[header, tabs, body, ...rest].filter(Boolean))
    if (held) header.querySelector(`[aria-label="${held}"]`)?.focus()
    if (!body) return
    enableTimes(this.panel)
    enableCopying(this.panel)
    enablePreviews(this.panel)
    enableUploads(this.panel, () => this.changed())
    enableFields(this.panel, () => this.changed())
    this.turnTo(this.part)
  }

  // A save in the drawer changes the row too, if the table shows values.
  changed() {
    return this.answer.querySelector('th[data-edit]') ? refreshRow(this.row) : this.renew(this.row)
  }

  // The tab stays while the keys lead through the records.
  turnTo(part) {
    const tabs = [...this.panel.querySelectorAll('.parts a')]
    const target = part && this.panel.querySelector(part)
    const section = target?.closest('.tabbed') ?? this.panel.querySelector('.body > .tabbed')
    if (target) this.part = part
    for (const other of this.panel.querySelectorAll('.body > .tabbed')) other.hidden = other !== section
    for (const tab of tabs) {
      tab.removeAttribute('aria-current')
      if (!section.querySelector(tab.hash)) continue
      tab.setAttribute('aria-current', 'true')
      tab.scrollIntoView({ block: 'nearest', inline: 'nearest' })
    }
    this.panel.querySelector('.body').scrollTo(0, 0)
  }

  tools(link) {
    const { rows } = this
    const at = rows.indexOf(this.row)
    const tools = Object.assign(document.createElement('div'), { className: 'row' })
    const count = Object.assign(document.createElement('span'), { className: 'faint', textContent: `${at + 1} of ${rows.length}` })
    const spacer = Object.assign(document.createElement('span'), { className: 'spacer' })
    const open = Object.assign(document.createElement('a'), { className: 'button', href: link.href, textContent: 'Open as page' })
    tools.append(
      this.button('Previous record', icons.previous, rows[at - 1]), this.button('Next record', icons.next, rows[at + 1]), count, spacer, open,
      this.button('Close', icons.close))
    return tools
  }

  button(name, drawing, row) {
    const button = Object.assign(document.createElement('button'), { type: 'button', className: 'bare', ariaLabel: name, title: name })
    button.append(icon(drawing))
    button.addEventListener('click', () => {
      if (name === 'Close') return this.leave()
      if (!row) return
      row.scrollIntoView({ block: 'nearest' })
      this.show(row)
    })
    button.ariaDisabled = String(name !== 'Close' && !row)
    return button
  }

  // A record's page is asked for once, until the record is saved.
  page(href) {
    if (!this.pages.has(href)) this.pages.set(href, this.load(href))
    return this.pages.get(href)
  }

  // The title, the tabs and the parts of a record's page, and its dialog; null if the server does not send it.
  async load(href) {
    try {
      const answer = await fetch(href, { headers: { Accept: 'text/html' } })
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
      const [title, tabs] = ['main > .heading > div', 'main > .parts'].map(part => page.querySelector(part))
      const body = Object.assign(page.createElement('div'), { className: 'body' })
      body.append(...page.querySelectorAll('main > .tabbed'))
      if (!title || !tabs || !body.firstChild) throw new Error('no record')
      const dialog = page.querySelector('main > dialog')
      // The table's page has a title of the first level, and identifiers of its own.
      const name = Object.assign(page.createElement('h2'), { className: title.querySelector('h1').className })
      name.append(...title.querySelector('h1').childNodes)
      title.querySelector('h1').replaceWith(name)
      title.querySelector('.over')?.remove()
      const parts = [title, tabs, body, dialog].filter(Boolean)
      for (const part of parts) rename(part)
      return parts
    } catch {
      return null
    }
  }
}

function trouble() {
  const part = document.createElement('div')
  part.append(Object.assign(document.createElement('p'), { className: 'remark', textContent: 'The record can’t be shown here. Its own page says why.' }))
  return part
}

// The page of a record leads to those before and after it in the table that it was opened from.
function showNeighbours() {
  const actions = document.querySelector('main:has(> .parts) > .heading > .actions')
  const { from, rows } = actions ? keptRows() : nothingKept
  const at = rows.indexOf(location.pathname + location.search)
  if (at < 0) return
  const links = [['Previous record', icons.previous, rows[at - 1]], ['Next record', icons.next, rows[at + 1]]].filter(([, , href]) => href).map(([name, drawing, href]) => {
    const link = Object.assign(document.createElement('a'), { className: 'button', href, title: name, ariaLabel: name })
    link.append(icon(drawing))
    return link
  })
  actions.prepend(Object.assign(document.createElement('a'), { href: from, title: 'Back to the table', textContent: `${at + 1} of ${rows.length}` }), ...links)
}

function icon(drawing) {
  const drawn = document.querySelector('svg.icon').cloneNode()
  drawn.append(document.createElementNS(drawn.namespaceURI, 'path'))
  drawn.firstChild.setAttribute('d', drawing)
  return drawn
}

// Identifiers exist only once in a page.
function rename(part) {
  for (const element of part.querySelectorAll('[id]')) element.id = `beside-${element.id}`
  for (const name of ['for', 'aria-labelledby', 'aria-describedby']) {
    for (const element of part.querySelectorAll(`[${name}]`)) element.setAttribute(name, `beside-${element.getAttribute(name)}`)
  }
  for (const link of part.querySelectorAll('a[href^="#"]')) link.setAttribute('href', `#beside-${link.hash.slice(1)}`)
}

// The rows of a table with the address of its page, for the pages of its records.
function keepRows(rows) {
  const address = ({ pathname, search }) => pathname + search
  const table = { from: address(location), rows: rows.map(row => address(row.querySelector('th.name > a'))) }
  try { sessionStorage.setItem(rowsKey, JSON.stringify(table)) } catch { /* Without storage, records have no neighbours. */ }
}

const nothingKept = { from: '', rows: [] }

function keptRows() {
  try { return JSON.parse(sessionStorage.getItem(rowsKey)) ?? nothingKept } catch { return nothingKept }
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
