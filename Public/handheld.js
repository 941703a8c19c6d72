// Shows wide tables on narrow screens as cards, one per row, with the column names in them. Without scripts, such a
// table scrolls horizontally.

const narrow = matchMedia('(max-width: 640px)')

// Tables with more columns stay tables, because cards would become too long.
const most = 16

export function enableHandheld() {
  const main = document.querySelector('main')
  if (!main) return
  // A live page changes often. Updates run at most once per frame, and only for changed rows.
  let waiting = 0
  const fitLater = () => {
    waiting ||= requestAnimationFrame(() => {
      waiting = 0
      fit(main)
    })
  }
  const rows = new MutationObserver(changes => {
    for (const { target } of changes) target.closest('.cards tr')?.removeAttribute('role')
    fitLater()
  })
  const turn = () => {
    fit(main)
    if (narrow.matches) rows.observe(main, { childList: true, subtree: true })
    else rows.disconnect()
  }
  narrow.addEventListener('change', turn)
  // A table that fits at 600 pixels may be too wide at 360.
  addEventListener('resize', () => narrow.matches && fitLater())
  turn()
}

function fit(main) {
  for (const table of main.querySelectorAll('table')) {
    if (!narrow.matches) table.classList.remove('cards')
    else if (table.matches('.cards, .fields') || isTooWide(table)) deal(table)
  }
}

function isTooWide(table) {
  const columns = table.tHead?.rows[0]?.cells.length ?? most
  return columns <= most && getComputedStyle(table).display === 'table' && table.offsetWidth > table.parentElement.clientWidth + 1
}

function deal(table) {
  const names = [...table.tHead?.rows[0]?.cells ?? []].flatMap(head => Array(head.colSpan).fill(name(head)))
  table.classList.add('cards')
  // Screen readers need explicit roles, because the layout as cards removes the table semantics.
  table.setAttribute('role', 'table')
  for (const group of [table.tHead, ...table.tBodies]) group?.setAttribute('role', 'rowgroup')
  for (const row of table.querySelectorAll(':scope > * > tr:not([role])')) {
    row.setAttribute('role', 'row')
    let column = 0
    for (const cell of row.cells) {
      const isHead = cell.matches('th')
      cell.setAttribute('role', !isHead ? 'cell' : row.parentElement === table.tHead ? 'columnheader' : 'rowheader')
      if (!isHead && cell.colSpan === 1) cell.dataset.label ??= names[column] ?? ''
      cell.toggleAttribute('data-blank', !isHead && isBlank(cell))
      column += cell.colSpan
    }
  }
}

// The name of a column is the first node of its header, unless that is for screen readers only.
function name(head) {
  return head.firstElementChild?.matches('.hidden') ? '' : head.firstChild?.textContent.trim() ?? ''
}

function isBlank(cell) {
  return ['', '–'].includes(cell.textContent.trim()) && !cell.querySelector('a, button, input, img, svg, progress, meter')
}
