// A button that cycles through the themes. first-rendering.js applies the choice on the next page.

const names = { system: 'as the system', light: 'light', dark: 'dark' }
const next = { system: 'light', light: 'dark', dark: 'system' }

export function enableThemes() {
  const button = document.querySelector('[data-themes]')
  if (!button) return
  const root = document.documentElement
  const current = () => root.dataset.theme ?? 'system'
  const say = () => {
    button.dataset.themes = current()
    button.title = `Colours: ${names[current()]}. Press for ${names[next[current()]]}`
    button.setAttribute('aria-label', button.title)
  }
  button.hidden = false
  say()
  button.addEventListener('click', () => {
    const chosen = next[current()]
    if (chosen === 'system') delete root.dataset.theme
    else root.dataset.theme = chosen
    try {
      if (chosen === 'system') localStorage.removeItem('theme')
      else localStorage.setItem('theme', chosen)
    } catch { /* Without storage, the choice applies only to this page. */ }
    say()
  })
}
