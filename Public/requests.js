// Inserts new requests at the top of the table. The server renders the rows: each update asks for the
// requests after the last one shown, so that none are missed or repeated, even after a long pause.
import { renewFrame } from './live.js'
import { enableTimes } from './times.js'

const number = new Intl.NumberFormat('en')
// The interval between updates without new requests, in milliseconds.
const pause = 500
// The maximum number of rows. Older ones are on later pages.
const shown = 500

export function enableRequests() {
  const root = document.querySelector('[data-requests]')
  if (root) new Live(root).start()
}

class Live {
  #timer = null
  #abort = null
  #isPaused = false
  #count = 0
  #missed = 0
  #restarts = 0

  constructor(root) {
    this.root = root
    this.part = Object.fromEntries(['state', 'count', 'reason', 'said', 'turn'].map(name => [name, root.querySelector(`[data-${name}]`)]))
    this.body = document.querySelector('tbody[data-rows]')
    this.after = root.dataset.after
  }

  start() {
    this.root.hidden = false
    this.part.turn.addEventListener('click', () => this.#turn())
    document.addEventListener('visibilitychange', () => { if (!document.hidden && !this.#isPaused) this.#look() })
    this.#show('Live', 'good', 'Pause')
    this.#draw()
    this.#wait()
  }

  #turn() {
    this.#isPaused = !this.#isPaused
    if (this.#isPaused) {
      clearTimeout(this.#timer)
      this.#abort?.abort()
      return this.#show('Paused', 'warn', 'Resume', 'Requests in the meantime appear on resume.', true)
    }
    this.#show('Live', 'good', 'Pause', '', true)
    this.#look()
  }

  #show(state, tone, turn, reason = '', isSaid = false) {
    const { part } = this
    if (part.state.textContent !== state) part.state.textContent = state
    part.state.className = `state ${tone}`
    part.turn.textContent = turn
    part.reason.textContent = reason
    if (isSaid) part.said.textContent = `${state} ${reason}`.trim()
  }

  #wait() {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#look(), pause)
  }

  async #look() {
    clearTimeout(this.#timer)
    if (this.#isPaused) return
    if (document.hidden) return this.#wait()
    // Runs only one request at a time, so that no answer is inserted twice.
    this.#abort?.abort()
    const abort = this.#abort = new AbortController()
    try {
      let hasMore = true
      while (hasMore) {
        const answer = await fetch(this.root.dataset.from + encodeURIComponent(this.after), { headers: { Accept: 'text/html' }, signal: abort.signal })
        // The session has expired.
        if (answer.status === 401) return location.reload()
        if (!answer.ok) throw new Error('no page')
        const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
        if (abort.signal.aborted) return
        renewFrame(page)
        hasMore = this.#take(page.querySelector('tbody[data-rows]'))
      }
      this.#show('Live', 'good', 'Pause')
    } catch {
      if (abort.signal.aborted) return
      this.#show('Reconnecting', 'warn', 'Pause', 'The server does not answer. No request is missed unless it stops.')
    }
    if (this.#abort === abort) this.#wait()
  }

  // Inserts the rows of an answer at the top. Returns true if more rows are available.
  #take(fresh) {
    if (!fresh) throw new Error('no rows')
    const rows = [...fresh.rows]
    this.after = fresh.dataset.newest ?? this.after
    this.#missed += Number(fresh.dataset.missed ?? 0)
    if (fresh.hasAttribute('data-another-run')) this.#restarts++
    if (rows.length > 0) {
      this.#count += rows.length
      document.querySelector('[data-nothing]')?.remove()
      this.body.closest('table').hidden = false
      const area = this.body.closest('.answer')
      const height = area.scrollTop > 0 ? area.scrollHeight : 0
      for (const row of rows) {
        document.adoptNode(row)
        row.classList.add('fresh')
        enableTimes(row)
      }
      this.body.prepend(...rows)
      if (this.body.rows.length > shown) {
        while (this.body.rows.length > shown) this.body.rows[this.body.rows.length - 1].remove()
        this.#leadOn(this.body.rows[shown - 1])
      }
      // Keeps the scroll position of a reader further down.
      if (height > 0) area.scrollTop += area.scrollHeight - height
    }
    this.#draw()
    return fresh.hasAttribute('data-more')
  }

  // Points 'Older' to the requests after the last remaining row.
  #leadOn(row) {
    const id = new URL(row.querySelector('th a').href).searchParams.get('id')
    const address = new URL(location.href)
    address.searchParams.set('before', id)
    address.hash = ''
    let link = document.querySelector('footer.foot a[rel=next]')
    if (!link) {
      link = document.createElement('a')
      link.className = 'button'
      link.rel = 'next'
      link.textContent = 'Older ›'
      document.querySelector('footer.foot').append(link)
    }
    link.href = address
  }

  #draw() {
    let text = `${number.format(this.#count)} new ${this.#count === 1 ? 'request' : 'requests'}`
    if (this.#missed > 0) text += `, and ${number.format(this.#missed)} that the log no longer has`
    if (this.#restarts > 0) text += '; the server has restarted, and its log no longer has earlier requests'
    this.part.count.textContent = text
    const rows = this.body.rows.length
    document.querySelector('[data-shown]').textContent = `${number.format(rows)} ${rows === 1 ? 'request' : 'requests'}`
  }
}
