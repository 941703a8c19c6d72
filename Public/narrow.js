// Filter boxes that filter a list or a table while typing: the one they name, or the page's. Without scripts, the form of the page's box asks the server.

export function enableNarrowing() {
  for (const box of document.querySelectorAll('input[data-narrow]')) {
    const area = box.dataset.narrow ? document.querySelector(box.dataset.narrow) : document.querySelector('main')
    if (!area) continue
    box.hidden = false
    box.addEventListener('input', () => narrow(box, area))
    // When the user navigates back, the browser restores the text of the box.
    narrow(box, area)
    // Replaced rows are unfiltered.
    new MutationObserver(() => narrow(box, area)).observe(area, { childList: true })
  }
}

function narrow(box, area) {
  const words = box.value.toLowerCase().split(' ').filter(word => word !== '')
  let count = 0
  for (const row of area.querySelectorAll('[data-words]')) {
    row.hidden = !words.every(word => (row.dataset.words || row.textContent.toLowerCase()).includes(word))
    if (!row.hidden) count += 1
  }
  const nothing = area.querySelector('[data-nothing]')
  if (nothing) nothing.hidden = count > 0
}
