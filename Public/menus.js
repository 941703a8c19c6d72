// Closes menus on a click outside and on the key Escape.

const menus = 'details.at, details.pick'

export function enableMenus() {
  document.addEventListener('click', event => close(menu => !menu.contains(event.target)))
  document.addEventListener('focusin', event => close(menu => !menu.contains(event.target)))
  document.addEventListener('keydown', event => {
    if (event.key !== 'Escape') return
    const open = event.target.closest(`:is(${menus})[open]`) ?? document.querySelector(`:is(${menus})[open]`)
    if (!open) return
    open.open = false
    open.querySelector('summary').focus()
  })
  // In a menu with a search box, what is typed goes there. Letters are no shortcuts then.
  for (const menu of document.querySelectorAll('details.at:has(input[type=search])')) {
    menu.addEventListener('keydown', event => {
      if (!menu.open || event.key.length !== 1 || event.key === ' ' || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
      event.stopPropagation()
      menu.querySelector('input[type=search]').focus()
    })
  }
}

function close(isLeft) {
  for (const menu of document.querySelectorAll(menus)) {
    if (menu.open && isLeft(menu)) menu.open = false
  }
}
