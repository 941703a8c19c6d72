// A form that is exchanged while somebody types into it: what was typed since goes on in the new one, and so does the cursor.

const kinds = { filter: 'filter', is: 'filter', value: 'filter', within: 'filter', sort: 'sort', order: 'sort', from: 'sort' }

export class Typing {
  // The form as it is when the new one is asked for, and the control that was used for it.
  constructor(form, control) {
    this.form = form
    this.control = control
    this.said = new Map([...form?.elements ?? []].map(element => [element, says(element)]))
    this.rows = new Map(['filter', 'sort'].flatMap(kind => this.numbered(kind)))
  }

  // Rows are numbered anew: those without a field are gone, and so is the one that was removed.
  numbered(kind) {
    const fields = [...this.said.keys()].filter(element => element.matches(`select[name^="${kind}"]`) && element.value !== '')
    const kept = fields.filter(field => this.control?.name !== 'remove' || field.name !== this.control.value)
    return kept.map((field, index) => [field.name, kind + (index + 1)])
  }

  // Says in the new form what was said in the old one since, and whether that was anything.
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

  // What takes the focus when the new form is there: where somebody went meanwhile comes before where the form would lead.
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

  // The control of the new form that stands for one of the old.
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
