// The forms with filters, of queries and of subscriptions: adds and removes rows, and adapts comparators to the field, without a
// page load. The server always renders the form. This script only replaces it in the page.

import { Typing } from './typing.js'

let latest = 0
let told = 0

// What the form of the page asked for, to which the rows are the answer.
let answered = null

// The selection that the arrow keys are changing. Each step causes a change event, but does not confirm the choice: Enter does.
let keyed = null

export function enableQuestion() {
  answered = asked()
  document.addEventListener('input', markRows)
  document.addEventListener('keydown', event => {
    keyed = event.target.closest('select')
    if (event.key !== 'Enter' || event.ctrlKey || event.metaKey || !keyed?.matches('[data-submit]') || !keyed.form) return
    event.preventDefault()
    submit(keyed)
  })
  document.addEventListener('pointerdown', () => { keyed = null })
  document.addEventListener('change', event => {
    const control = event.target
    if (!control.form) return
    const isForm = control.form.matches('[data-ask]')
    if (control.matches('[data-submit]') && keyed !== control) submit(control)
    else if (control.matches('select[data-submit], select[data-redraw]') && isForm) redraw(control.form, control)
    else if (isForm) retell(control.form)
  })
  document.addEventListener('click', event => {
    const button = event.target.closest('button[data-redraw]')
    if (!button?.form) return
    event.preventDefault()
    redraw(button.form, button)
  })
  document.addEventListener('click', event => {
    const found = event.target.closest('[data-ask] a[data-found]')
    if (!found || event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    choose(found)
  })
  document.addEventListener('keydown', event => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
    const form = event.target.closest('form.ask') ?? document.querySelector('form.ask')
    const button = form?.querySelector('button.go')
    if (button) form.requestSubmit(button)
  })
}

// A choice that begins another sentence leaves the form open.
function submit({ form, dataset }) {
  const editing = Object.assign(document.createElement('input'), { type: 'hidden', name: 'edit', value: '1' })
  if (dataset.submit === 'edit') form.append(editing)
  form.requestSubmit(form.querySelector('button.go'))
  editing.remove()
}

// A found record becomes the value of its filter. The link would do the same with a page load.
function choose(found) {
  const row = found.closest('.row')
  const value = row.querySelector('input[name^="value"]')
  value.value = found.dataset.found
  found.closest('.found').remove()
  value.focus()
  retell(value.form)
}

async function redraw(form, control) {
  const number = ++latest
  const parameters = new URLSearchParams(new FormData(form, control.type === 'submit' ? control : undefined))
  // Another field has other comparators and values.
  const changed = control.name.match(/^filter(\d+)$/)
  if (changed) for (const part of ['is', 'value', 'within']) parameters.delete(part + changed[1])
  parameters.set('draft', '1')
  const typing = new Typing(form, control)
  const text = new Typing(writtenForm())
  try {
    const answer = await ask(form, parameters)
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    const fresh = page.querySelector('form[data-ask]')
    if (!answer.ok || !fresh) throw new Error('no form')
    if (number !== latest) return
    const isKeyed = keyed === control
    const next = isKeyed ? fresh.querySelector(`[name="${CSS.escape(control.name)}"]`) : place(control, fresh)
    const isTyped = typing.goOn(fresh)
    const focus = typing.focus(fresh, next)
    form.replaceWith(document.adoptNode(fresh))
    markRows()
    tellAsText(page, text)
    focus()
    if (isKeyed) keyed = document.activeElement
    if (isTyped) retell(fresh)
  } catch {
    form.requestSubmit(control.type === 'submit' ? control : undefined)
  }
}

// What the form above the rows asks for; null without such a form.
function asked() {
  const form = document.querySelector('.asked form[data-ask]')
  return form && String(new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== '')))
}

// The rows answer what was asked before, until the changed form is sent.
function markRows() {
  const answer = document.querySelector('.answer:has(> table)')
  if (!answer || answered === null) return
  const isOld = asked() !== answered
  if (answer.matches('[data-old]') === isOld) return
  answer.toggleAttribute('data-old', isOld)
  if (!isOld) return document.getElementById('old-rows')?.remove()
  const remark = Object.assign(document.createElement('p'), { id: 'old-rows', className: 'remark', textContent: 'These rows answer the query before your change.' })
  remark.setAttribute('role', 'status')
  answer.before(remark)
}

// The page with the form as it is. A form that saves something posts its fields, and says that they are a draft.
function ask(form, parameters) {
  const headers = { Accept: 'text/html' }
  const address = form.getAttribute('action')
  return form.method === 'post' ? fetch(address, { method: 'POST', headers, body: parameters }) : fetch(`${address}?${parameters}`, { headers })
}

// After input in a value, only the text beside the form changes.
async function retell(form) {
  if (!writtenForm()) return
  const [number, drawn] = [++told, latest]
  const parameters = new URLSearchParams(new FormData(form))
  parameters.set('draft', '1')
  const text = new Typing(writtenForm())
  try {
    const answer = await ask(form, parameters)
    if (!answer.ok) return
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    // A form that was replaced meanwhile already has its text.
    if (number === told && drawn === latest) tellAsText(page, text)
  } catch {
    // The text stays outdated. A submitted form renders it again.
  }
}

function writtenForm() {
  return document.querySelector('[data-written] form')
}

// Updates the text beside the form and its hidden fields, but not while the user edits the text.
function tellAsText(page, typing) {
  const fresh = page.querySelector('[data-written] form')
  const shown = writtenForm()
  // A newer form has arrived meanwhile and replaces this one.
  if (!fresh || !shown || shown !== typing.form) return
  typing.goOn(fresh)
  const focus = typing.focus(fresh)
  shown.replaceWith(document.adoptNode(fresh))
  focus()
}

// The control to focus: the one that was used, or the new row.
function place(control, fresh) {
  if (control.name === 'add') return [...fresh.querySelectorAll(`select[name^="${control.value}"]`)].at(-1)
  if (control.name === 'remove') return fresh.querySelector('button[name="add"]') ?? fresh.querySelector('select[name^="filter"]')
  if (control.name === 'find') return fresh.querySelector('.found a') ?? fresh.querySelector(`[name="${CSS.escape(control.value.replace('filter', 'value'))}"]`)
  const value = control.name.replace(/^(filter|is)/, 'value')
  const same = fresh.querySelector(`[name="${CSS.escape(control.name)}"]`)
  return control.name.startsWith('filter') ? fresh.querySelector(`[name="${CSS.escape(value)}"]`) ?? same : same
}
