// This browser as a test device: a token of its own, whose notifications it takes from the web courier while the page is
// open. A reload goes on with the same token and what it received, so that nothing is missed.
import { enableCopying } from './copy.js'
import { enableTimes } from './times.js'

// The pause before the next attempt, in milliseconds.
const pause = 2000
// The number of notifications that are kept for a reload.
const most = 20
// The key under which the first rendering of this page finds the height of the list.
const roomKey = `received ${location.pathname} ${new URLSearchParams(location.search).get('user') ?? ''}`

export function enableTestDevice() {
  const root = document.querySelector('[data-device]')
  const button = document.querySelector('[data-listen]')
  if (!root || !button) return
  const device = new TestDevice(root, button)
  device.resume()
  button.hidden = false
  button.addEventListener('click', () => device.turn())
  // A form that would leave the page, and so end the device, is sent in place.
  document.addEventListener('submit', event => {
    if (!device.isOn || !event.target.matches('[data-stay]')) return
    event.preventDefault()
    device.send(event.target)
  })
  addEventListener('pagehide', () => device.leave())
  // The page comes back as it was left.
  addEventListener('pageshow', event => { if (event.persisted) device.resume() })
}

class TestDevice {
  #abort = null
  // The token's address at the web courier, the name of the device, what it received, and if the user has stopped it.
  #kept

  constructor(root, button) {
    Object.assign(this, { root, button, said: root.querySelector('[data-said]') })
    this.listening = document.querySelector('[data-listening]')
    this.key = `courier ${root.dataset.create} ${root.dataset.user}`
    this.#kept = kept(this.key)
    for (const { payload, time } of [...this.#kept.received].reverse()) this.#show(payload, time)
  }

  get isOn() { return this.#abort !== null }

  // Goes on after a page load, unless the user has stopped it.
  resume() {
    const { courier, isStopped } = this.#kept
    if (!courier) delete document.documentElement.dataset.received
    else if (!isStopped) return this.#listen()
    else this.root.hidden = false
    this.#label()
  }

  turn() {
    this.#keep({ isStopped: this.isOn })
    if (this.isOn) return this.#stop()
    this.#listen()
  }

  leave() {
    try {
      if (this.root.hidden) sessionStorage.removeItem(roomKey)
      else sessionStorage.setItem(roomKey, this.root.offsetHeight)
    } catch { /* Without storage, the list is lost, too. */ }
    this.#stop()
  }

  #stop() {
    this.#abort?.abort()
    this.#abort = null
    this.listening.hidden = true
    this.#label()
  }

  #label() {
    const { name } = this.#kept
    this.button.textContent = this.isOn ? 'Stop listening' : name ? `Listen again as ${name}` : 'Add a test device'
    this.button.className = this.isOn ? 'button' : 'go'
  }

  #keep(change) {
    Object.assign(this.#kept, change)
    try {
      sessionStorage.setItem(this.key, JSON.stringify(this.#kept))
    } catch { /* The device ends with this page. */ }
  }

  // Sends a form, and says what the page of its answer says.
  async send(form) {
    try {
      const answer = await fetch(form.action, { method: 'POST', headers: { Accept: 'text/html' }, body: new URLSearchParams(new FormData(form)) })
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
      const told = page.querySelector('main [role=alert], main .notice') ?? (answer.ok ? null : page.querySelector('main'))
      this.#say(told?.textContent.trim() ?? '', answer.ok ? '' : 'bad')
    } catch {
      this.#say('The server does not answer.', 'bad')
    }
  }

  async #listen() {
    const abort = this.#abort = new AbortController()
    this.root.hidden = false
    this.#label()
    this.#say('')
    while (!abort.signal.aborted) {
      try {
        if (!this.#kept.courier) await this.#make(abort.signal)
        this.listening.textContent = `This browser is listening as Test device ${this.#kept.name}`
        this.listening.hidden = false
        const answer = await fetch(this.#kept.courier, { signal: abort.signal, cache: 'no-store' })
        // The token has expired, or the server has forgotten it.
        if (answer.status === 404) this.#keep({ courier: null, name: null })
        else if (!answer.ok) throw new Error(`The web courier answered ${answer.status}.`)
        else this.#take(await answer.json())
      } catch (error) {
        if (abort.signal.aborted) return
        this.listening.hidden = true
        this.#say(error instanceof TypeError ? 'The server does not answer. It is asked again.' : error.message, 'bad')
        await new Promise(done => { setTimeout(done, pause) })
      }
    }
  }

  async #make(signal) {
    const { create, user, environment } = this.root.dataset
    const secret = document.querySelector('meta[name=form-secret]')?.content
    const headers = { 'Content-Type': 'application/json', 'X-Skylight-User': user, 'X-Skylight-Access': 'owner', ...secret ? { 'X-Skylight-Form': secret } : {} }
    // With a name of its own, its notifications are not taken for those of another client of the user.
    const name = Math.random().toString(36).slice(2, 6)
    const answer = await fetch(create, { method: 'POST', headers, body: JSON.stringify({ apnsEnvironment: environment, clientId: `Test device ${name}` }), signal })
    const made = await answer.json()
    if (!answer.ok) throw new Error(made.reason ?? `tokens/create answered ${answer.status}.`)
    // The origin of this page is known to reach the server.
    const { pathname, search } = new URL(made.webcourierURL, location.href)
    this.#keep({ courier: pathname + search, name })
  }

  // Without a notification the answer is null.
  #take(payload) {
    if (payload === null) return
    const time = new Date().toISOString()
    this.#keep({ received: [{ payload, time }, ...this.#kept.received].slice(0, most) })
    this.#show(payload, time)
  }

  #show(payload, received) {
    const { ck = {} } = payload
    const about = ck.qry ?? ck.fet ?? ck.met ?? {}
    const row = this.root.querySelector('template[data-arrival]').content.firstElementChild.cloneNode(true)
    row.querySelector('[data-subscription]').textContent = about.sid ?? 'A notification'
    row.querySelector('[data-subject]').textContent = [about.rid, about.zid && `in ${about.zid}`].filter(Boolean).join(' ')
    const time = row.querySelector('time')
    time.dateTime = received
    time.textContent = time.dateTime.slice(11, 19)
    row.querySelector('code').textContent = JSON.stringify(payload, null, 2)
    this.root.querySelector('[data-arrivals]').prepend(row)
    this.root.querySelector('[data-nothing]').hidden = true
    enableCopying(row)
    enableTimes(row)
  }

  #say(text, tone = '') {
    this.said.textContent = text
    this.said.className = tone
  }
}

// The device as this window keeps it.
function kept(key) {
  try {
    const { courier, name, received, isStopped } = JSON.parse(sessionStorage.getItem(key))
    if ([courier, name].every(part => typeof part === 'string') && Array.isArray(received)) return { courier, name, received, isStopped }
  } catch { /* There is none. */ }
  return { received: [] }
}
