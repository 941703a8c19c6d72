// The places that this browser visited last. They are stored only here.

const storageKey = 'places visited'
const most = 30
const shown = 6

// Pages about something, rather than forms and answers to them.
const kinds = /^\/c\/[^/]+\/(development|production)\/(public|private|shared)\/(query|explain|fetch|changes|record|zone|type|object|objects\/entity|share|requests|subscription|users\/user)$/

export function rememberPlace() {
  const address = new URL(location.href)
  if (!kinds.test(address.pathname) || ['draft', 'edit', 'marker', 'notice'].some(name => address.searchParams.has(name))) return
  const href = address.pathname + address.search
  // Queries have the same title, whatever their filters.
  const text = document.querySelector('#where')?.value ?? ''
  const entries = load().filter(entry => entry.href !== href && !(entry.title === document.title && entry.text === text))
  try {
    localStorage.setItem(storageKey, JSON.stringify([{ href, title: document.title, text }, ...entries].slice(0, most)))
  } catch {
    // Without storage there is no list, and nothing else is affected.
  }
}

// The latest places whose titles and filters have all words of a text.
export function placesLike(text) {
  const words = text.toLowerCase().split(' ')
  const here = location.pathname + location.search
  return load().filter(entry => entry.href !== here && words.every(word => `${entry.title} ${entry.text}`.toLowerCase().includes(word))).slice(0, shown)
}

function load() {
  try {
    const entries = JSON.parse(localStorage.getItem(storageKey) ?? '[]')
    return Array.isArray(entries)
      ? entries.filter(entry => [entry?.title, entry?.text, entry?.href].every(part => typeof part === 'string') && kinds.test(entry.href.split('?')[0]))
      : []
  } catch {
    return []
  }
}
