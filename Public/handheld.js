// Phones show the rows of tables as cards, by the style sheet alone. Screen readers need explicit roles then, because the layout as cards removes the
// table's own.

const narrow = matchMedia('(max-width: 640px)')

export function enableHandheld() {
  const main = document.querySelector('main')
  if (!main) return
  // A live page gets new rows.
  const rows = new MutationObserver(() => giveRoles(main))
  const turn = () => {
    if (!narrow.matches) return rows.disconnect()
    giveRoles(main)
    rows.observe(main, { childList: true, subtree: true })
  }
  narrow.addEventListener('change', turn)
  turn()
}

function giveRoles(main) {
  for (const table of main.querySelectorAll('table')) {
    table.role = 'table'
    for (const group of [table.tHead, ...table.tBodies]) group?.setAttribute('role', 'rowgroup')
    for (const row of table.querySelectorAll(':scope > * > tr:not([role])')) {
      row.role = 'row'
      for (const cell of row.cells) cell.role = cell.matches('td') ? 'cell' : cell.closest('thead') ? 'columnheader' : 'rowheader'
    }
  }
}
