// A filter box that filters the table below it while typing. Without scripts, its form asks the server.

export function enableNarrowing() {
  const box = document.querySelector('input[data-narrow]')
  if (!box) return
  box.addEventListener('input', () => narrow(box))
  // When the user navigates back, the browser restores the text of the box.
  narrow(box)
  // Replaced rows are unfiltered.
  const observer = new MutationObserver(() => narrow(box))
  observer.observe(document.querySelector('main'), { childList: true })
}

function narrow(box) {
  const words = box.value.toLowerCase().split(' ').filter(word => word !== '')
  let count = 0
  for (const row of document.querySelectorAll('[data-words]')) {
    row.hidden = !words.every(word => (row.dataset.words || row.textContent.toLowerCase()).includes(word))
    if (!row.hidden) count += 1
  }
  const nothing = document.querySelector('[data-nothing]')
  if (nothing) nothing.hidden = count > 0
}
