// The form of a query: rows come and go, and comparisons fit their field, without loading the page anew.
// The server makes the form in every case; here only its place in the page is exchanged.

let latest = 0

export function enableQuestion() {
  document.addEventListener('change', event => {
    const control = event.target
    if (!control.form) return
    if (control.matches('[data-submit]')) control.form.requestSubmit(control.form.querySelector('button.go'))
    if (control.matches('select[data-redraw]')) redraw(control.form, control)
  })
  document.addEventListener('click', event => {
    const button = event.target.closest('button[data-redraw]')
    if (!button?.form) return
    event.preventDefault()
    redraw(button.form, button)
  })
  document.addEventListener('keydown', event => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
    const form = event.target.closest('form.ask') ?? document.querySelector('form.ask')
    const button = form?.querySelector('button.go')
    if (button) form.requestSubmit(button)
  })
}

async function redraw(form, control) {
  const number = ++latest
  const parameters = new URLSearchParams(new FormData(form, control.type === 'submit' ? control : undefined))
  parameters.set('draft', '1')
  const url = `${form.getAttribute('action')}?${parameters}`
  try {
    const answer = await fetch(url, { headers: { Accept: 'text/html' } })
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    const fresh = page.querySelector('form[data-ask]')
    if (!answer.ok || !fresh) throw new Error('no form')
    if (number !== latest) return
    const focus = place(control, fresh)
    form.replaceWith(document.adoptNode(fresh))
    focus?.focus()
  } catch {
    form.requestSubmit(control.type === 'submit' ? control : undefined)
  }
}

// Where to go on: the control that was used, or the row that came.
function place(control, fresh) {
  if (control.name === 'add') return [...fresh.querySelectorAll(`select[name^="${control.value}"]`)].at(-1)
  if (control.name === 'remove') return fresh.querySelector('button[name="add"]') ?? fresh.querySelector('select[name^="filter"]')
  const value = control.name.replace(/^(filter|is)/, 'value')
  const same = fresh.querySelector(`[name="${CSS.escape(control.name)}"]`)
  return control.name.startsWith('filter') ? fresh.querySelector(`[name="${CSS.escape(value)}"]`) ?? same : same
}
