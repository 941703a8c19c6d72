// The menu of a cell: filters by its value, edits it, copies it, opens the record it names. A click opens it, and a double click edits
// the value in its place. With the keyboard, the arrow keys lead from the name of a record through its cells, Enter opens the menu and
// F2 edits. All cells share one menu: a table has thousands of cells.

import { editAddress, editInPlace } from './celledit.js'
import { isLeft } from './menus.js'

// A title in the head of a row is a value, too.
const cells = 'tbody td, [data-titled] > tbody th'
const interactive = 'a, button, input, textarea, form, summary, label, select'

export function enableCells() {
  const table = document.querySelector('table[data-cells]')
  if (!table || !HTMLElement.prototype.showPopover) return
  const menu = new CellMenu(table)
  table.addEventListener('click', event => {
    const cell = event.target.closest(cells)
    if (!cell || cell.colSpan > 1 || event.target.closest(interactive) || !getSelection().isCollapsed) return
    menu.open(cell)
  })
  table.addEventListener('dblclick', event => {
    const cell = event.target.closest(cells)
    if (!cell || event.target.closest(interactive) || !menu.field(cell)?.isShort) return
    getSelection().removeAllRanges()
    menu.edit(cell)
  })
  table.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const cell = event.target.closest('tbody :is(th, td)')
    if (!cell || event.target.closest('summary, input, form')) return
    const to = neighbour(cell, event.key)
    if (to) {
      event.preventDefault()
      focus(to)
    } else if (event.target === cell && cell.colSpan === 1 && ['Enter', ' '].includes(event.key)) {
      event.preventDefault()
      menu.open(cell)
    } else if ((event.target === cell || cell.matches('th')) && event.key === 'F2' && menu.field(cell)) {
      event.preventDefault()
      menu.edit(cell)
    }
  })
}

// The cell in the direction of an arrow key. The names of records have keys of their own.
function neighbour(cell, key) {
  const sideways = { ArrowLeft: 'previousElementSibling', ArrowRight: 'nextElementSibling' }[key]
  if (sideways) {
    let to = cell[sideways]
    while (to && to.offsetParent === null) to = to[sideways]
    return to
  }
  const upright = { ArrowUp: 'previousElementSibling', ArrowDown: 'nextElementSibling' }[key]
  return upright && cell.matches('td') ? cell.parentElement[upright]?.cells[cell.cellIndex] : null
}

function focus(cell) {
  const target = cell.querySelector(':scope > a') && cell.matches('th') ? cell.querySelector(':scope > a') : cell
  if (target === cell) cell.tabIndex = -1
  target.focus()
  cell.scrollIntoView({ block: 'nearest', inline: 'nearest' })
}

class CellMenu {
  constructor(table) {
    this.heads = [...table.tHead.rows[0].cells]
    this.menu = document.createElement('div')
    this.menu.className = 'cellmenu'
    this.menu.popover = 'auto'
    this.menu.setAttribute('role', 'group')
    table.parentElement.after(this.menu)
    // The cell is where it was only until the table scrolls.
    table.parentElement.addEventListener('scroll', () => this.close())
    document.addEventListener('focusin', event => isLeft(this.menu, event.target) && this.close())
    // Afterwards, the menu may be that of another cell.
    this.menu.addEventListener('beforetoggle', event => event.newState === 'closed' && this.cell?.classList.remove('chosen'))
  }

  open(cell) {
    this.cell = cell
    const head = this.heads[cell.cellIndex]
    const name = head.firstChild.textContent.trim()
    const text = value(cell)
    const title = document.createElement('p')
    title.className = 'faint'
    title.textContent = name
    const items = [title]
    const pick = cell.parentElement.querySelector('input[name="pick"]')?.value
    const alike = cell.closest('[data-alike]')?.dataset.alike
    if (alike && head.dataset.field && pick && text !== '') items.push(link('Filter by this value', CellMenu.alike(alike, head.dataset.field, pick)))
    const field = this.field(cell)
    if (field) items.push(this.editor(cell, field))
    if (text !== '' && navigator.clipboard) items.push(this.copier(text))
    for (const there of cell.querySelectorAll('a[href]')) items.push(link(`${there.download ? 'Download' : 'Open'} ${titleOf(there)}`, there.href))
    if (text === '') items.splice(1, 0, Object.assign(document.createElement('p'), { textContent: 'No value' }))
    this.menu.ariaLabel = `${name} of ${cell.parentElement.querySelector('th').textContent.trim()}`
    this.menu.replaceChildren(...items)
    this.menu.showPopover()
    this.place(cell)
    cell.classList.add('chosen')
    this.menu.querySelector('a, button')?.focus()
  }

  close() {
    if (this.menu.matches(':popover-open')) this.menu.hidePopover()
  }

  // Below the cell, or above it where the window ends.
  place(cell) {
    const { left, top, bottom } = cell.getBoundingClientRect()
    const { width, height } = this.menu.getBoundingClientRect()
    const x = Math.max(8, Math.min(left, innerWidth - width - 8))
    const y = bottom + height + 8 <= innerHeight ? bottom : Math.max(8, top - height)
    Object.assign(this.menu.style, { left: `${x}px`, top: `${y}px` })
  }

  // The field of a cell, if the form of a record edits it; short if it has one input.
  field(cell) {
    const { edit, name } = this.heads[cell.cellIndex].dataset
    return edit && !cell.matches('.nofield') && editAddress(cell, name) ? { name, isShort: edit === 'short' } : null
  }

  edit(cell) {
    const { name, isShort } = this.field(cell)
    this.close()
    if (isShort) editInPlace(cell, name)
    else location.assign(editAddress(cell, name))
  }

  editor(cell, { name, isShort }) {
    const item = link(isShort ? 'Edit' : 'Edit in the form', editAddress(cell, name))
    item.addEventListener('click', event => {
      if (!isShort || event.ctrlKey || event.metaKey || event.shiftKey) return
      event.preventDefault()
      this.edit(cell)
    })
    return item
  }

  // A table with records of several types has a query for each.
  static alike(query, field, pick) {
    const address = new URL(query, location.href)
    address.searchParams.set('alike', field)
    address.searchParams.set('pick', pick)
    return address.href
  }

  copier(text) {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'bare'
    button.textContent = 'Copy'
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(text)
        button.textContent = 'Copied'
        setTimeout(() => this.close(), 700)
      } catch {
        button.textContent = 'Not allowed'
      }
    })
    return button
  }
}

function link(text, href) {
  return Object.assign(document.createElement('a'), { textContent: text, href })
}

// The title of a record, or else its name.
function titleOf(there) {
  return (there.querySelector('bdi') ?? there).textContent.trim()
}

// The value without the notes beside it. A long text is there in full.
function value(cell) {
  if (cell.matches('th')) return cell.querySelector('a > bdi')?.textContent ?? ''
  const pairs = [...cell.querySelectorAll('dl > div:not(.faint)')].map(pair => `${pair.firstElementChild.textContent}: ${value(pair.lastElementChild)}`)
  if (pairs.length > 0) return pairs.join('\n')
  const items = [...cell.querySelectorAll('li:not(.faint)')].map(item => item.textContent.trim())
  if (items.length > 0) return items.join(', ')
  // A record's name is beside its title.
  const part = cell.querySelector('a > small') ?? cell.querySelector('.long > div, time, a, code') ?? cell
  const text = part === cell ? [...cell.childNodes].filter(node => !(node instanceof Element && node.matches('.faint'))).map(node => node.textContent).join('') : part.textContent
  return text.trim()
}
