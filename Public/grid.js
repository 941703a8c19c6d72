// Says what Save does with a grid of indexes, before it is pressed.

export function enableGrid() {
  const line = document.querySelector('[data-saves]')
  if (!line) return
  const hint = line.textContent
  const say = () => {
    const form = document.getElementById('grid')
    const text = form && words(form) || hint
    if (line.textContent !== text) line.textContent = text
  }
  document.addEventListener('input', say)
  // A refused form, and one to which the user goes back, has ticks that are not saved.
  say()
}

function words(form) {
  const was = form.elements.was.value.split(' ')
  const changed = [...form.querySelectorAll('[name=has]:enabled')].filter(box => box.checked !== was.includes(box.value))
  // The page of a type does not repeat its name.
  const type = form.elements.type ? ` of ${form.elements.type.value}` : ''
  const label = box => box.getAttribute('aria-label').replace(type, '')
  const named = isAdded => changed.filter(box => box.checked === isAdded).map(label)
  const [added, deleted] = [named(true), named(false)]
  const name = form.elements.field?.value.trim()
  const over = form.dataset.built ? ` and builds ${added.length > 1 ? 'them' : 'it'} over ${form.dataset.built}` : ''
  const parts = [
    name && `adds the field ${[name, form.elements.fieldType.value, ...ticked(form)].join(' ')}`,
    added.length > 0 && `adds ${added.join(', ')}${over}`,
    deleted.length > 0 && `deletes ${deleted.join(', ')}`
  ].filter(Boolean)
  return parts.length > 0 ? `Save ${parts.join('; ')}.` : ''
}

function ticked(form) {
  return [...form.querySelectorAll('[name=index]:checked')].map(box => box.value)
}
