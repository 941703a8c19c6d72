// A region that shows work under way keeps up with it: the page is asked again, and only the region is exchanged. When the work is
// done, a page that waited for it (data-reload) is loaded anew. Without scripts the page loads itself anew.
import { enableCopying } from './copy.js'
import { enableTimes } from './times.js'

const pause = 1000

export function enableLive() {
  if (!document.querySelector('[data-live][id]')) return
  const said = document.createElement('p')
  said.className = 'hidden'
  said.setAttribute('role', 'status')
  document.querySelector('main').append(said)
  setTimeout(renew, pause, said)
}

async function renew(said) {
  const regions = [...document.querySelectorAll('[data-live][id]')]
  if (!document.hidden) {
    try {
      const answer = await fetch(location.href, { headers: { Accept: 'text/html' } })
      // The page says what is no longer there, or that the session is over.
      if (answer.status === 404 || answer.status === 401) return location.reload()
      if (!answer.ok) throw new Error('no page')
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
      const isDone = region => !page.getElementById(region.id)?.matches('[data-live]')
      if (regions.some(region => region.matches('[data-reload]') && isDone(region))) return location.replace(location.href)
      for (const region of regions) exchange(region, page.getElementById(region.id), said)
    } catch {
      // The next look may find the server again.
    }
  }
  if (document.querySelector('[data-live][id]')) setTimeout(renew, pause, said)
}

function exchange(region, fresh, said) {
  // Nobody's typing is lost: the region waits.
  const active = region.contains(document.activeElement) ? document.activeElement : null
  if (active?.matches('input:not([type=checkbox]), select, textarea')) return
  if (!fresh) return region.removeAttribute('data-live')
  // What is as it was is not announced again.
  if (fresh.matches('[data-live]') && fresh.textContent === region.textContent) return
  const scrolled = [...region.querySelectorAll('.scroll')].map(area => area.scrollLeft)
  document.adoptNode(fresh)
  region.replaceWith(fresh)
  fresh.querySelectorAll('.scroll').forEach((area, index) => { area.scrollLeft = scrolled[index] ?? 0 })
  enableCopying(fresh)
  enableTimes(fresh)
  if (active) same(active, fresh)?.focus({ preventScroll: true })
  if (!fresh.matches('[data-live]')) said.textContent = region.dataset.live
}

// What was in focus, as it is now: what can be done with an index changes when it is complete.
function same(element, region) {
  const find = (...names) => {
    const wanted = names.filter(name => element.hasAttribute(name))
    if (wanted.length === 0) return null
    const selector = wanted.map(name => `[${name}="${CSS.escape(element.getAttribute(name))}"]`).join('')
    return region.querySelector(element.localName + selector)
  }
  return find('id') ?? find('name', 'value') ?? find('value') ?? find('href') ?? find('aria-label')
}
