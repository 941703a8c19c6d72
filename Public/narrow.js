// A filter box that narrows the table below it with every key. Without scripts its form asks the server.

export function enableNarrowing() {
  const box = document.querySelector('input[data-narrow]')
  if (!box) return
  box.addEventListener('input', () => narrow(box))
  // A browser that comes back fills the box in by itself.
  narrow(box)
  // Rows that were exchanged meanwhile are all there again.
  const observer = new MutationObserver(() => narrow(box))
  observer.observe(document.querySelector('main'), { childList: true })
}

function narrow(box) {
  const words = box.value.toLowerCase().split(' ').filter(word => word !== '')
  let count = 0
  for (const row of document.querySelectorAll('[data-words]')) {
    row.hidden = !words.every(word => row.dataset.words.includes(word))
    if (!row.hidden) count += 1
  }
  const nothing = document.querySelector('[data-nothing]')
  if (nothing) nothing.hidden = count > 0
}
