// Replaces a form during input: newer input and the cursor position carry over to the new form.

const kinds = { filter: 'filter', is: 'filter', value: 'filter', within: 'filter', sort: 'sort', order: 'sort', from: 'sort' }

export class Typing {
  // The state of the form when the new one is requested, and the control that caused the request.
  constructor(form, control) {
    this.form = form
    this.control = control
    this.said = new Map([...form?.elements ?? []].map(element => [element, says(element)]))
    this.rows = new Map(['filter', 'sort'].flatMap(kind => this.numbered(kind)))
  }

  // Maps to the new row numbers: rows without a field and the removed row are gone.
  numbered(kind) {
    const fields = [...this.said.keys()].filter(element => element.matches(`select[name^="${kind}"]`) && element.value !== '')
    const kept = fields.filter(field => this.control?.name !== 'remove' || field.name !== this.control.value)
    return kept.map((field, index) => [field.name, kind + (index + 1)])
  }

  // Applies newer input to the new form. Returns true if there was any.
  goOn(fresh) {
    let isAnything = false
    for (const [element, before] of this.said) {
      const now = says(element)
      const other = now === before ? null : this.same(element, fresh)
      if (!other || (other.matches('select') && ![...other.options].some(option => option.value === now && !option.disabled))) continue
      if (typeof now === 'boolean') other.checked = now
      else other.value = now
      isAnything = true
    }
    return isAnything
  }

  // The control to focus in the new form: a control that the user has focused meanwhile takes precedence.
  focus(fresh, next) {
    const active = document.activeElement
    if (!this.form?.contains(active)) return () => { if (active === document.body) next?.focus() }
    if (active === this.control) return () => next?.focus()
    const other = this.same(active, fresh) ?? next
    const isText = active.matches('input[type=text]') && other?.matches('input[type=text]')
    const selection = isText ? [active.selectionStart, active.selectionEnd, active.selectionDirection] : null
    return () => {
      other?.focus()
      if (selection) other.setSelectionRange(...selection)
    }
  }

  // The corresponding control in the new form.
  same(element, fresh) {
    if (!element.name) return null
    const [, part, number] = element.name.match(/^(filter|is|value|within|sort|order|from)(\d+)$/) ?? []
    const row = part ? this.rows.get(kinds[part] + number) : null
    if (part && !row) return null
    const name = part ? part + row.slice(kinds[part].length) : element.name
    const isChoice = element.matches('input[type=checkbox], button')
    return [...fresh.elements].find(other => other.name === name && other.type === element.type && (!isChoice || other.value === element.value)) ?? null
  }
}

function says(control) {
  return control.type === 'checkbox' ? control.checked : control.value
}
