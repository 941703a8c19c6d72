// Closes menus on a press outside, on the key Escape, and when the focus goes elsewhere, and dialogs on a press on their backdrop.

const open = ':is(.at, .pick)[open]'

export function enableMenus() {
  // A press counts where it begins: a text may be selected beyond its menu. It counts at its end: a finger may scroll the page instead.
  let pressed = null
  document.addEventListener('pointerdown', event => { pressed = event.target })
  document.addEventListener('pointerup', () => close(menu => !menu.contains(pressed)))
  document.addEventListener('click', event => { if (event.target === pressed && pressed.matches('dialog')) pressed.close() })
  document.addEventListener('focusin', event => close(menu => isLeft(menu, event.target)))
  document.addEventListener('keydown', event => {
    if (event.key !== 'Escape') return
    const menu = event.target.closest(open) ?? document.querySelector(open)
    if (!menu) return
    menu.open = false
    menu.querySelector('summary').focus()
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

// A press on a text in a menu gives the focus to an element around the menu, because the text can't have it.
export function isLeft(menu, focused) {
  return !menu.contains(focused) && !focused.contains(menu)
}

function close(isOver) {
  for (const menu of document.querySelectorAll(open)) {
    if (isOver(menu)) menu.open = false
  }
}
