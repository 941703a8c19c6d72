// A copy button for every copyable value.

export function enableCopying(root) {
  if (!navigator.clipboard) return
  for (const source of root.querySelectorAll('[data-copy-source]')) {
    const holder = source.closest('.copyable')
    if (!holder || holder.querySelector('button')) continue
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = 'Copy'
    button.addEventListener('click', () => copy(source.textContent, button))
    holder.append(button)
    nameButton(source)
  }
}

// The button is named after what it copies, so it is named again when that changes.
export function nameButton(source) {
  source.closest('.copyable')?.querySelector('button')?.setAttribute('aria-label', `Copy ${name(source)}`)
}

function name(source) {
  const text = source.textContent.trim()
  return text.length > 24 ? `${text.slice(0, 24)}…` : text
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text)
    button.textContent = 'Copied'
  } catch {
    button.textContent = 'Not allowed'
  }
  setTimeout(() => { button.textContent = 'Copy' }, 1500)
}
