// The recent queries. They are stored only in this browser. The server stores only saved queries.

const storageKey = 'queries asked'
const most = 12

export function enableRecent() {
  const menu = document.querySelector('[data-recent]')
  if (!menu) return
  const here = location.pathname + location.search
  const entries = load().filter(entry => entry.href !== here)
  show(entries, menu.querySelector('[data-recent-list]'))
  const asked = new URLSearchParams(location.search)
  // Skips further pages of a listed query, and forms that are not submitted yet.
  if (!asked.has('type') || ['marker', 'draft', 'where', 'notice', 'count', 'edit'].some(name => asked.has(name)) || !location.pathname.endsWith('/query')) return
  const text = document.querySelector('#where')?.value ?? ''
  keep([{ href: here, type: asked.get('type'), text }, ...entries].slice(0, most))
}

function show(entries, list) {
  // Ignores addresses outside of the console.
  const own = entries.filter(entry => /^\/c\/[^/]+\/(development|production)\//.test(entry.href))
  list.hidden = own.length === 0
  list.querySelector('ul').replaceChildren(...own.map(entry => {
    const item = document.createElement('li')
    const link = document.createElement('a')
    link.href = entry.href
    link.textContent = `${entry.type} `
    const words = document.createElement('small')
    words.textContent = [entry.text, entry.href.split('/').slice(2, 4).map(decodeURIComponent).join(' ')].filter(part => part !== '').join(' · ')
    link.append(words)
    item.append(link)
    return item
  }))
}

function load() {
  try {
    const entries = JSON.parse(localStorage.getItem(storageKey) ?? '[]')
    return Array.isArray(entries)
      ? entries.filter(entry => [entry?.href, entry?.type, entry?.text].every(part => typeof part === 'string')).slice(0, most)
      : []
  } catch {
    return []
  }
}

function keep(entries) {
  try {
    localStorage.setItem(storageKey, JSON.stringify(entries))
  } catch {
    // Without storage there is no list, and nothing else is affected.
  }
}
