// A page that waits for work on the server looks again every second, and is loaded anew when the work is done.

const pause = 1000

export function enableRefreshing() {
  const region = document.querySelector('[data-refresh]')
  if (region) setTimeout(look, pause, region)
}

async function look(region) {
  if (document.hidden) {
    document.addEventListener('visibilitychange', () => look(region), { once: true })
    return
  }
  try {
    const answer = await fetch(location.href, { headers: { Accept: 'text/html' } })
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    const fresh = page.querySelector('[data-refresh]')
    // A page that came of a form is not asked for again: there is nothing at its address to compare with.
    if (answer.ok && !fresh) return location.replace(location.href)
    if (fresh && !region.contains(document.activeElement) && fresh.innerText !== region.innerText) region.replaceChildren(...document.adoptNode(fresh).childNodes)
  } catch {
    // The server is away for a moment; the next look tells.
  }
  setTimeout(look, pause, region)
}
