// Edits a value of a table in its cell. The input comes from the form of the record, which also saves it: with the change tag that
// the record had when the input appeared. If somebody else saved it meanwhile, the page of the conflict follows.

import { adoptNotice } from './notices.js'
import { enableTimes } from './times.js'

// The page with the form of a record, at a field.
export function editAddress(cell, field) {
  const link = cell.parentElement.querySelector('th.name > a')
  if (!link) return null
  const address = new URL(link.href)
  address.pathname += '/edit'
  address.searchParams.set('field', field)
  return address.href
}

// Edits a value of a table, or of a record.
// - saved: shows the saved value; its row, if it is missing.
export async function editInPlace(cell, field, address = editAddress(cell, field), saved = () => refreshRow(cell.parentElement)) {
  if (cell.querySelector('form')) return
  try {
    const form = await recordForm(address, field)
    new CellEditor(cell, form, line(form, field), saved)
  } catch {
    // The page of the form says what is wrong.
    location.assign(address)
  }
}

async function recordForm(address, field) {
  const whole = new URL(address)
  // With the field, the answer would lead to its place on the page.
  whole.searchParams.delete('field')
  const form = (await load(whole)).querySelector('form[data-editor]')
  if (!line(form, field)?.querySelector('[name^="text-"]')) throw new Error('no input')
  return form
}

export async function load(address, options) {
  const answer = await fetch(address, { headers: { Accept: 'text/html' }, ...options })
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
  return Object.assign(page, { isAfterSave: answer.ok && answer.redirected, address: answer.url })
}

// The line of the form with the inputs of a field.
function line(form, field) {
  return [...form?.querySelectorAll('.line') ?? []].find(line => line.querySelector('input[name^="field"]')?.value === field)
}

class CellEditor {
  constructor(cell, form, line, saved) {
    this.cell = cell
    this.saved = saved
    this.form = form
    this.line = line
    this.source = line.querySelector('[name^="text-"]')
    this.input = document.importNode(this.source, true)
    this.problem = Object.assign(document.createElement('p'), { className: 'wrong', id: 'cell-problem', hidden: true })
    this.problem.setAttribute('role', 'alert')
    const editor = document.createElement('form')
    editor.className = 'celledit entry'
    const save = Object.assign(document.createElement('button'), { className: 'go', textContent: 'Save' })
    const cancel = Object.assign(document.createElement('button'), { type: 'button', textContent: 'Cancel' })
    const unit = this.input.matches('[data-utc]') ? [Object.assign(document.createElement('span'), { className: 'faint', textContent: 'UTC' })] : []
    editor.append(this.input, save, cancel, ...unit, this.problem)
    editor.addEventListener('submit', event => {
      event.preventDefault()
      this.save()
    })
    cancel.addEventListener('click', () => this.end())
    editor.addEventListener('keydown', event => {
      if (event.isComposing) return
      if (event.key === 'Escape') this.end()
      else if (event.key === 'Enter' && event.target === this.input && !event.shiftKey) this.save()
      else return
      event.preventDefault()
      event.stopPropagation()
    })
    this.kept = [...cell.childNodes]
    cell.replaceChildren(editor)
    this.input.focus()
    this.input.select()
  }

  end() {
    this.cell.replaceChildren(...this.kept)
    this.focus()
  }

  focus() {
    this.cell.tabIndex = -1
    this.cell.focus()
  }

  async save() {
    if (this.isSaving) return
    this.isSaving = true
    this.source.value = this.input.value
    const body = new URLSearchParams(new FormData(this.form))
    body.set('do', 'save')
    try {
      const answer = await load(this.form.getAttribute('action'), { method: 'POST', body })
      if (answer.isAfterSave) {
        // The head of a row has its link, too.
        if (this.cell.matches('th')) this.cell.replaceChildren(...this.kept)
        await this.saved(answer)
        adoptNotice(answer)
        return this.focus()
      }
      const line = answer.getElementById(this.line.id)
      const problem = line?.querySelector('.wrong')
      if (problem) this.tell(problem.textContent)
      else if (line && !answer.querySelector('main [role=alert]')) this.end()
      else this.leave()
    } catch {
      this.tell('The server does not answer. Nothing was saved.')
    } finally {
      this.isSaving = false
    }
  }

  tell(problem) {
    this.problem.textContent = problem
    this.problem.hidden = false
    this.input.setAttribute('aria-invalid', 'true')
    this.input.setAttribute('aria-describedby', this.problem.id)
    this.input.focus()
  }

  // Shows the answer as a page: a conflict, a question, or an error that is about more than this field.
  leave() {
    const form = document.adoptNode(this.form)
    form.hidden = true
    document.body.append(form)
    form.requestSubmit(form.querySelector('button[value="save"]'))
  }
}

// The values of a record, on its page or in the drawer: a double click edits, and so does the link of each, which without this script
// leads to the form.
export function enableFields(root, saved = answer => location.assign(answer.address)) {
  for (const link of root.querySelectorAll('dl.fields .inplace[data-inplace]')) {
    const cell = link.parentElement
    const edit = event => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || cell.querySelector('form')) return
      event.preventDefault()
      getSelection().removeAllRanges()
      editInPlace(cell, link.dataset.inplace, link.href, saved)
    }
    link.addEventListener('click', edit)
    cell.addEventListener('dblclick', event => { if (!event.target.closest('a, button, summary')) edit(event) })
  }
}

// Shows a row as the same page now has it.
export async function refreshRow(row) {
  const link = row.querySelector('th.name > a')
  const links = [...(await load(location.href)).querySelectorAll('tbody th.name > a')]
  const fresh = links.find(other => other.getAttribute('href') === link.getAttribute('href'))?.closest('tr')
  // The record is on another page now, or the query does not find it any more.
  if (fresh?.cells.length !== row.cells.length) return location.reload()
  const pick = row.querySelector('input[name="pick"]')
  if (pick) pick.value = fresh.querySelector('input[name="pick"]').value
  link.replaceChildren(...imported(fresh.querySelector('th.name > a')))
  for (const [index, cell] of [...row.cells].entries()) {
    if (cell.matches('td')) cell.replaceChildren(...imported(fresh.cells[index]))
  }
  enableTimes(row)
  row.dispatchEvent(new CustomEvent('saved', { bubbles: true }))
}

function imported(element) {
  return [...element.childNodes].map(node => document.importNode(node, true))
}
