// Updates a region that shows work in progress: requests the page again and replaces only the region. At
// the end of the work, a page with data-reload is reloaded. Without scripts, the page reloads itself.
import { enableCopying } from './copy.js'
import { enableTimes } from './times.js'

const pause = 1000

let isPaused = false

export function enableLive() {
  if (!document.querySelector('[data-live][id]')) return
  enablePause()
  const said = document.createElement('p')
  said.className = 'hidden'
  said.setAttribute('role', 'status')
  document.querySelector('main').append(said)
  setTimeout(renew, pause, said)
}

// A region that never ends can be paused, for reading.
function enablePause() {
  const [turn, state] = ['turn', 'state'].map(name => document.querySelector(`[data-live-${name}]`))
  if (!turn) return
  turn.hidden = state.hidden = false
  turn.addEventListener('click', () => {
    isPaused = !isPaused
    turn.textContent = isPaused ? 'Resume' : 'Pause'
    state.textContent = isPaused ? 'Paused' : 'Live'
    state.className = `state ${isPaused ? 'warn' : 'good'}`
  })
}

async function renew(said) {
  const regions = [...document.querySelectorAll('[data-live][id]')]
  if (!document.hidden && !isPaused) {
    try {
      const answer = await fetch(location.href, { headers: { Accept: 'text/html' } })
      // The reloaded page reports missing data, or an expired session.
      if (answer.status === 404 || answer.status === 401) return location.reload()
      if (!answer.ok) throw new Error('no page')
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
      renewFrame(page)
      const isDone = region => !page.getElementById(region.id)?.matches('[data-live]')
      if (regions.some(region => region.matches('[data-reload]') && isDone(region))) return location.replace(location.href)
      for (const region of regions) exchange(region, page.getElementById(region.id) ?? ended(region, page), said)
    } catch {
      // The next attempt may succeed.
    }
  }
  if (document.querySelector('[data-live][id]')) setTimeout(renew, pause, said)
}

// Replaces the banner of rehearsals and the states in the sidebar by those of a page that was fetched just now.
export function renewFrame(page) {
  const [shown, fresh] = [document, page].map(from => from.querySelector('.rehearsing'))
  if (shown && !fresh) {
    if (shown.contains(document.activeElement)) document.querySelector('main').focus({ preventScroll: true })
    shown.remove()
  } else if (fresh && shown?.textContent !== fresh.textContent) {
    document.adoptNode(fresh)
    if (shown) shown.querySelector('p').replaceWith(fresh.querySelector('p'))
    else document.querySelector('header.scope').after(fresh)
  }
  const entries = new Map([...page.querySelectorAll('#pages li a')].map(entry => [entry.getAttribute('href'), entry]))
  for (const entry of document.querySelectorAll('#pages li a')) {
    const other = entries.get(entry.getAttribute('href'))
    if (other && other.textContent !== entry.textContent) entry.replaceChildren(...document.adoptNode(other).childNodes)
  }
}

// A section has its identifier only while it is live.
function ended(region, page) {
  return page.querySelector(`section[aria-labelledby="${region.getAttribute('aria-labelledby')}"]`)
}

function exchange(region, fresh, said) {
  // The update waits while the user types in the region.
  const active = region.contains(document.activeElement) ? document.activeElement : null
  if (active?.matches('input:not([type=checkbox]), select, textarea')) return
  if (!fresh) return region.removeAttribute('data-live')
  // Unchanged content is not announced again.
  if (fresh.matches('[data-live]') && fresh.textContent === region.textContent) return
  const scrolled = [...region.querySelectorAll('.scroll')].map(area => area.scrollLeft)
  const typed = [...region.querySelectorAll('input, select')].filter(isChanged)
  document.adoptNode(fresh)
  region.replaceWith(fresh)
  fresh.querySelectorAll('.scroll').forEach((area, index) => { area.scrollLeft = scrolled[index] ?? 0 })
  for (const control of typed) keep(control, same(control, fresh))
  enableCopying(fresh)
  enableTimes(fresh)
  if (active) same(active, fresh)?.focus({ preventScroll: true })
  if (!fresh.matches('[data-live]')) said.textContent = region.dataset.live
}

function isChanged(control) {
  if (control.localName === 'select') return [...control.options].some(option => option.selected !== option.defaultSelected)
  return control.checked !== control.defaultChecked || control.value !== control.defaultValue
}

// What the user ticked or typed stays.
function keep(control, fresh) {
  if (!fresh || fresh.disabled) return
  fresh.value = control.value
  fresh.checked = control.checked
}

// The element that corresponds to the focused one. The actions on an index change when it is complete.
function same(element, region) {
  const find = (...names) => {
    const wanted = names.filter(name => element.hasAttribute(name))
    if (wanted.length === 0) return null
    const selector = wanted.map(name => `[${name}="${CSS.escape(element.getAttribute(name))}"]`).join('')
    return region.querySelector(element.localName + selector)
  }
  return find('id') ?? find('name', 'value') ?? find('value') ?? find('href') ?? find('aria-label')
}
