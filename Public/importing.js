// The import page: the preview follows each choice without a page load, and a file dropped anywhere on the page is imported.
import { enableCopying } from './copy.js'
import { enableTimes } from './times.js'

let latest = 0

export function enableImporting() {
  if (!importForm()) return
  document.addEventListener('change', event => {
    const form = importForm()
    if (event.target.form === form && hasRows(form)) follow(event.target)
  })
  // Enter asks for the page of the preview, which leads on to the button that imports.
  document.addEventListener('submit', () => { latest++ })
  enableDropping()
  block()
  // This script comes after the page: a file may be chosen already, also by a browser that goes back to the page.
  const { file } = importForm().elements
  if (file.files.length > 0) follow(file)
}

// Without scripts, the button stays enabled: the choice that it needs is made in the same form.
function block() {
  for (const button of importForm().querySelectorAll('button[data-blocked]')) button.disabled = true
}

// The form is replaced with each preview.
function importForm() { return document.querySelector('form[data-import]') }

function hasRows(form) {
  const { file, text, upload } = form.elements
  return file.files.length > 0 || text.value !== '' || upload !== undefined
}

async function follow(control) {
  const form = importForm()
  if (!form.checkValidity()) {
    // A new file leads to the next choice. The browser's message comes only with the button: nothing is wrong yet.
    if (control.type === 'file') form.querySelector('input:invalid, select:invalid')?.focus()
    return
  }
  const number = ++latest
  const button = form.querySelector('button:not([formaction])')
  try {
    const answer = await fetch(form.getAttribute('action'), { method: 'POST', headers: { Accept: 'text/html' }, body: new FormData(form) })
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    const fresh = page.querySelector('main')
    if (!fresh?.querySelector('form[data-import]')) throw new Error('no form')
    if (number !== latest) return
    const focus = document.activeElement
    document.querySelector('main').replaceChildren(...[...fresh.childNodes].map(part => document.importNode(part, true)))
    enableCopying(document)
    enableTimes(document)
    block()
    same(focus)?.focus({ preventScroll: true })
  } catch {
    // The page after a page load says more.
    if (number === latest) importForm().requestSubmit(control.isConnected ? button : undefined)
  }
}

// The control that corresponds to the focused one.
function same(control) {
  if (!control?.name) return control?.id ? document.getElementById(control.id) : null
  const value = control.type === 'checkbox' ? `[value="${CSS.escape(control.value)}"]` : ''
  return document.querySelector(`main [name="${CSS.escape(control.name)}"]${value}`)
}

function enableDropping() {
  const place = () => document.querySelector('[data-drop-file]')
  const carriesFiles = event => [...event.dataTransfer?.types ?? []].includes('Files')
  document.addEventListener('dragover', event => {
    if (!carriesFiles(event)) return
    event.preventDefault()
    place().classList.add('over')
  })
  document.addEventListener('dragleave', event => {
    if (!event.relatedTarget) place().classList.remove('over')
  })
  document.addEventListener('drop', event => {
    if (!carriesFiles(event)) return
    event.preventDefault()
    place().classList.remove('over')
    const form = importForm()
    const input = form.querySelector('input[type=file]')
    input.files = event.dataTransfer.files
    if (form.elements.type.value) follow(input)
    else form.elements.type.focus()
  })
}
