// This browser as a test device: a token of its own, whose notifications it takes from the web courier while the page is
// open. A reload uses the same token, so that nothing is missed.
import { enableCopying } from './copy.js'
import { enableTimes } from './times.js'

// The pause before the next attempt, in milliseconds.
const pause = 2000

export function enableTestDevice() {
  const root = document.querySelector('[data-device]')
  const button = document.querySelector('[data-listen]')
  if (!root || !button) return
  const device = new TestDevice(root, button)
  button.hidden = false
  button.addEventListener('click', () => device.turn())
  // A form that would leave the page, and so end the device, is sent in place.
  document.addEventListener('submit', event => {
    if (!device.isOn || !event.target.matches('[data-stay]')) return
    event.preventDefault()
    device.send(event.target)
  })
  addEventListener('pagehide', () => device.stop())
}

class TestDevice {
  #abort = null

  constructor(root, button) {
    Object.assign(this, { root, button, said: root.querySelector('[data-said]') })
    this.listening = document.querySelector('[data-listening]')
    this.key = `courier ${root.dataset.create} ${root.dataset.user}`
  }

  get isOn() { return this.#abort !== null }

  turn() {
    if (this.isOn) return this.stop()
    this.#listen()
  }

  stop() {
    this.#abort?.abort()
    this.#abort = null
    this.listening.hidden = true
    this.button.textContent = 'Listen again'
    this.button.className = 'go'
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
    this.button.textContent = 'Stop listening'
    this.button.className = 'button'
    this.#say('')
    while (!abort.signal.aborted) {
      try {
        const courier = sessionStorage.getItem(this.key) ?? await this.#made(abort.signal)
        this.listening.hidden = false
        const answer = await fetch(courier, { signal: abort.signal, cache: 'no-store' })
        // The token has expired, or the server has forgotten it.
        if (answer.status === 404) sessionStorage.removeItem(this.key)
        else if (!answer.ok) throw new Error(`The web courier answered ${answer.status}.`)
        else this.#show(await answer.json())
      } catch (error) {
        if (abort.signal.aborted) return
        this.listening.hidden = true
        this.#say(error instanceof TypeError ? 'The server does not answer. It is asked again.' : error.message, 'bad')
        await new Promise(done => { setTimeout(done, pause) })
      }
    }
  }

  async #made(signal) {
    const { create, user, environment } = this.root.dataset
    const secret = document.querySelector('meta[name=form-secret]')?.content
    const headers = { 'Content-Type': 'application/json', 'X-Skylight-User': user, 'X-Skylight-Access': 'owner', ...secret ? { 'X-Skylight-Form': secret } : {} }
    // With a name of its own, its notifications are not taken for those of another client of the user.
    const clientId = `Test device ${Math.random().toString(36).slice(2, 6)}`
    const answer = await fetch(create, { method: 'POST', headers, body: JSON.stringify({ apnsEnvironment: environment, clientId }), signal })
    const made = await answer.json()
    if (!answer.ok) throw new Error(made.reason ?? `tokens/create answered ${answer.status}.`)
    // The origin of this page is known to reach the server.
    const { pathname, search } = new URL(made.webcourierURL, location.href)
    sessionStorage.setItem(this.key, pathname + search)
    return pathname + search
  }

  // Without a notification the answer is null.
  #show(payload) {
    if (payload === null) return
    const { ck = {} } = payload
    const about = ck.qry ?? ck.fet ?? ck.met ?? {}
    const row = this.root.querySelector('template[data-arrival]').content.firstElementChild.cloneNode(true)
    row.querySelector('[data-subscription]').textContent = about.sid ?? 'A notification'
    row.querySelector('[data-subject]').textContent = [about.rid, about.zid && `in ${about.zid}`].filter(Boolean).join(' ')
    const time = row.querySelector('time')
    time.dateTime = new Date().toISOString()
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
