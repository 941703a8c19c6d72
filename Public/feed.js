// Loads a feed as one stream, and follows it live. Both show the latest changes above those of the page.
import { enableBeside } from './beside.js'
import { enableCells } from './cells.js'
import { enableCopying, nameButton } from './copy.js'
import { bytes } from './sizes.js'
import { enableTimes } from './times.js'

const shown = 200
const number = new Intl.NumberFormat('en')
// The interval between display updates in milliseconds, because a feed is faster than a reader.
const pause = 200

export function enableFeed() {
  const root = document.querySelector('[data-feed]')
  if (!root) return
  const panel = new Panel(root)
  const playback = new Playback(panel)
  const follow = new Follow(panel)
  const play = document.querySelector('[data-play]')
  const start = document.querySelector('[data-follow]')
  play.hidden = start.hidden = false
  play.addEventListener('click', () => {
    follow.stop()
    playback.start()
  })
  start.addEventListener('click', () => {
    playback.stop()
    follow.start()
  })
  panel.turn.addEventListener('click', () => panel.activity.turn())
}

// The counters, the table, and the tokens.
class Panel {
  // The token of followed changes, apart from the page's.
  #ahead = null

  constructor(root) {
    this.root = root
    this.part = Object.fromEntries(['state', 'progress', 'count', 'pace', 'reason', 'said'].map(name => [name, root.querySelector(`[data-${name}]`)]))
    this.turn = root.querySelector('[data-turn]')
    this.row = root.querySelector('template[data-row]').content.firstElementChild
    this.people = new Map([...root.querySelector('template[data-people]').content.querySelectorAll('data')].map(person => [person.value, person.textContent]))
    this.titles = new Titles(root)
    this.token = root.dataset.start
    const { token, next } = this.#foot
    // While more pages are coming, the foot leads from the end of the page to the next one, whatever is followed.
    this.isOpen = next.rel === 'next'
    this.skips = this.token !== token.textContent
  }

  get #foot() {
    const [name, token, next] = ['[data-token-name]', '.tokentext', '[data-next]'].map(selector => document.querySelector(`.foot ${selector}`))
    return { name, token, next }
  }

  // An activity takes over the panel. Shows its state in a word, and the next action of its button.
  show(activity, state, tone, turn, reason = '') {
    const { part } = this
    this.activity = activity
    this.root.hidden = false
    part.state.textContent = state
    part.state.className = `state ${tone}`
    part.reason.textContent = reason
    const isFocused = document.activeElement === this.turn
    this.turn.hidden = turn === null
    if (turn !== null) this.turn.textContent = turn
    else if (isFocused) document.querySelector('[data-play]').focus()
    this.say(`${state} ${reason}`)
  }

  // Announces only turning points to screen readers, because running numbers would drown everything else.
  say(text) { this.part.said.textContent = text.trim() }

  // The table body for live rows. The rows of the page stay below, or are replaced.
  body(isAlone) {
    const answer = document.querySelector('.answer')
    let table = answer.querySelector('table')
    if (!table) {
      table = this.root.querySelector('template[data-table]').content.firstElementChild.cloneNode(true)
      answer.replaceChildren(table)
      Object.assign(answer, { tabIndex: 0, role: 'region', ariaLabel: 'Changes' })
      enableCells()
      enableBeside()
    }
    if (isAlone) {
      for (const body of table.querySelectorAll('tbody')) body.remove()
      for (const fact of document.querySelectorAll('.timeline, .answer .aside, .foot [data-page], .foot .took')) fact.remove()
    }
    let body = table.querySelector('tbody.live')
    if (!body) {
      body = document.createElement('tbody')
      body.className = 'live'
      table.querySelector('thead').after(body)
    }
    return body
  }

  // Following begins: what an empty page says is no longer true of the next moment.
  begin() {
    const nothing = document.querySelector('.answer > .empty')
    if (!nothing) return
    for (const fact of [nothing, ...document.querySelectorAll('.heading .said > :first-child, .foot [data-page]')]) fact.remove()
  }

  // Inserts changes at the top, the latest first.
  prepend(body, changes) {
    body.prepend(...changes.slice(-shown).reverse().map(change => this.made(change)))
    while (body.rows.length > shown) body.rows[body.rows.length - 1].remove()
  }

  made(change) {
    const row = this.row.cloneNode(true)
    const text = (selector, value) => { row.querySelector(selector).textContent = value }
    text('[data-position]', change.position === undefined ? '–' : number.format(change.position))
    const kind = row.querySelector('.kind')
    kind.classList.add(change.kind)
    kind.textContent = change.kind === 'recreated' ? 're-created' : change.kind
    const link = row.querySelector('a')
    link.textContent = link.title = change.recordName
    if (change.title !== '') {
      const name = document.createElement('small')
      name.textContent = change.recordName
      const title = document.createElement('bdi')
      title.textContent = change.title
      link.replaceChildren(title, ' ', name)
    }
    link.href = this.root.dataset.record + encodeURIComponent(change.recordName)
    text('[data-type]', change.type)
    const fields = row.querySelector('[data-fields]')
    fields.textContent = change.fields
    for (const { name, href, size } of change.assets) fields.append(' · ', assetLink(name, href), ` ${size}`)
    const time = row.querySelector('time')
    const date = new Date(change.when)
    if (Number.isNaN(date.getTime())) time.remove()
    else {
      time.dateTime = date.toISOString()
      time.textContent = utc(date)
      enableTimes(row)
    }
    text('[data-by]', this.people.get(change.by) ?? change.by)
    text('[data-device]', change.device)
    text('code', change.tag)
    return row
  }

  // The changes that replace the page have come up to a token, so the foot goes on from there.
  reach(token) {
    this.isOpen = false
    this.#ahead?.remove()
    const { name, token: link, next } = this.#foot
    this.#lead(token, link, next)
    name.textContent = 'new token'
    next.textContent = 'Fetch again'
    next.removeAttribute('rel')
  }

  // The followed changes have come up to a token. While there are pages between, it stands apart from the token of the page.
  follow(token) {
    if (!this.isOpen) return this.reach(token)
    this.#ahead ??= this.#apart()
    this.#lead(token, this.#ahead.querySelector('.tokentext'), this.#ahead.querySelector('[data-ahead-next]'))
  }

  #apart() {
    const ahead = this.root.querySelector('template[data-ahead]').content.firstElementChild.cloneNode(true)
    if (!this.skips) ahead.querySelector('[data-skips]').remove()
    this.root.append(ahead)
    enableCopying(ahead)
    this.#foot.name.textContent = 'page’s token'
    return ahead
  }

  // Shows the token with its links, like the page does.
  #lead(token, link, next) {
    const { again, explain } = this.root.dataset
    this.token = token
    link.textContent = token
    link.href = explain + encodeURIComponent(token)
    nameButton(link)
    next.href = again + encodeURIComponent(token)
  }
}

// The number of file links per row.
const shownAssets = 3

function assets(fields) {
  const all = Object.entries(fields).flatMap(([field, { value }]) => [value].flat().map(asset => ({ field, asset })))
  return all.filter(({ asset }) => typeof asset?.downloadURL === 'string').slice(0, shownAssets).map(({ field, asset }) => {
    const { pathname } = new URL(asset.downloadURL, location.href)
    return { name: decodeURIComponent(pathname.split('/').pop()) || field, href: pathname, size: bytes(asset.size) }
  })
}

function assetLink(name, href) {
  const link = document.createElement('a')
  link.href = href
  link.download = link.textContent = name
  return link
}

// The titles of records, as the page has them: the value of the field that is chosen for the type, or else the first text that usually is one.
class Titles {
  static #length = 60

  constructor(root) {
    this.chosen = new Map([...root.querySelector('template[data-titles]').content.querySelectorAll('data')].map(type => [type.value, type.textContent]))
    this.usual = root.dataset.titles.split(' ')
  }

  of({ recordType, fields = {} }) {
    const chosen = this.chosen.get(recordType)
    const text = chosen === undefined
      ? this.usual.map(field => fields[field]?.value).find(value => typeof value === 'string' && value !== '')
      : Titles.#text(fields[chosen])
    const letters = [...text ?? '']
    return letters.length > Titles.#length ? `${letters.slice(0, Titles.#length).join('')}…` : letters.join('')
  }

  static #text({ value, type } = {}) {
    const date = type === 'TIMESTAMP' ? new Date(value) : null
    if (date && !Number.isNaN(date.getTime())) return `${utc(date)} UTC`
    return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  }
}

function utc(date) {
  return date.toISOString().replace('T', ' ').replace(/(\.000)?Z$/, '')
}

// Keeps only the values that a row shows, so that large records can be released.
// To a pull without a token every record is new, so the dates tell whether it was modified, as on the page.
function summary({ change, position, record }, titles, isFirst = false) {
  const { created = {}, modified = {} } = record
  const isModified = isFirst && change === 'created' && created.timestamp < modified.timestamp
  return {
    kind: isModified ? 'modified' : change ?? 'saved',
    position,
    recordName: record.recordName,
    type: record.recordType ?? '',
    fields: change === 'deleted' ? '–' : Object.keys(record.fields ?? {}).join(', '),
    assets: assets(record.fields ?? {}),
    title: titles.of(record),
    when: modified.timestamp ?? NaN,
    by: modified.userRecordName ?? '',
    device: modified.deviceID && modified.deviceID !== 'iCloud' ? modified.deviceID : '',
    tag: record.recordChangeTag ?? '',
  }
}

function since(address, token) {
  return token ? `${address}&since=${encodeURIComponent(token)}` : address
}

// The message of an error response.
async function reason(answer) {
  try {
    return (await answer.json()).reason ?? `Status ${answer.status}`
  } catch {
    return `Status ${answer.status}`
  }
}

class Playback {
  #panel
  #abort = null
  // True if the stream began without a token.
  #isFirst = false
  // The last token of the stream, and the number of changes up to it.
  #token = ''
  #reached = 0
  #done = 0
  #total = null
  // Changes on the page after the last token, which the stream sends again.
  #again = 0
  #latest = []
  // The duration of earlier interrupted streams in milliseconds, and the start of this one.
  #spent = 0
  #began = 0
  #drawn = 0

  constructor(panel) { this.#panel = panel }

  start() {
    this.stop()
    const isSince = document.querySelector('[data-since]').checked
    this.#token = isSince ? document.querySelector('[data-token]').value.trim() : ''
    this.#isFirst = this.#token === ''
    this.#reached = this.#done = this.#again = this.#spent = 0
    this.#latest = []
    this.#total = null
    this.#run(true)
  }

  stop() {
    this.#abort?.abort()
    this.#abort = null
  }

  turn() {
    if (!this.#abort) return this.#run()
    this.stop()
    this.#end('Paused', 'warn', 'Resume', 'It continues from the last token.')
  }

  async #run(isAlone = false) {
    const abort = this.#abort = new AbortController()
    this.#again += this.#done - this.#reached
    this.#done = this.#reached
    this.#began = performance.now()
    this.#panel.show(this, 'Loading', 'faint', 'Pause')
    this.#panel.turn.focus()
    this.#draw()
    const clock = setInterval(() => this.#draw(), pause)
    let isFinished = false
    let failure = 'The stream ended early.'
    let isRefused = false
    try {
      const answer = await fetch(since(this.#panel.root.dataset.playbackFrom, this.#token), { signal: abort.signal })
      if (!answer.ok) throw new Refusal(await reason(answer))
      const body = this.#panel.body(isAlone)
      for (; this.#again > 0 && body.rows.length > 0; this.#again -= 1) body.rows[0].remove()
      this.#again = 0
      for await (const line of lines(answer.body)) {
        // Ignores data of an aborted stream.
        if (abort.signal.aborted) return
        isFinished = this.#take(JSON.parse(line)) || isFinished
        if (performance.now() - this.#drawn > pause) this.#draw()
      }
    } catch (error) {
      isRefused = error instanceof Refusal
      if (isRefused) failure = error.message
    } finally {
      clearInterval(clock)
    }
    if (this.#abort !== abort) return
    this.#abort = null
    if (isFinished) this.#end('Loaded', 'good', null)
    else if (isRefused && this.#reached === 0) this.#refuse(failure)
    else this.#end('Interrupted', 'bad', 'Resume', failure)
  }

  // Returns true for the last line.
  #take(line) {
    if (line.record) {
      this.#done += 1
      this.#latest.push(summary(line, this.#panel.titles, this.#isFirst))
      if (this.#latest.length > 2 * shown) this.#latest.splice(0, shown)
      return false
    }
    if (line.playback === 'failed') throw new Refusal(line.reason)
    // A resumed stream starts a new count. The total keeps its first value.
    if (line.playback === 'started') this.#total ??= line.total ?? null
    if (line.syncToken) {
      this.#token = line.syncToken
      this.#reached = this.#done
      this.#panel.reach(this.#token)
    }
    if (line.playback !== 'finished') return false
    // Saves and deletions during the playback change the total.
    this.#total = this.#done
    return true
  }

  // The stream failed without data, so there is nothing to count.
  #refuse(why) {
    const { part } = this.#panel
    part.progress.hidden = true
    part.count.textContent = part.pace.textContent = ''
    this.#panel.show(this, 'Refused', 'bad', null, why)
  }

  #end(state, tone, turn, why) {
    this.#draw()
    this.#spent += performance.now() - this.#began
    this.#panel.show(this, state, tone, turn, why)
    this.#panel.say(`${state}: ${this.#panel.part.count.textContent}. ${why ?? 'The new token is in the foot of the page.'}`)
  }

  #draw() {
    const { part } = this.#panel
    this.#drawn = performance.now()
    const seconds = (this.#spent + this.#drawn - this.#began) / 1000
    const total = this.#total === null ? null : Math.max(this.#total, this.#done)
    part.progress.hidden = false
    if (total === null) part.progress.removeAttribute('value')
    // An empty total counts as complete.
    else Object.assign(part.progress, total === 0 ? { max: 1, value: 1 } : { max: total, value: this.#done })
    part.count.textContent = total === null ? number.format(this.#done) : `${number.format(this.#done)} of ${number.format(total)}`
    const rate = seconds > 0.05 ? ` · ${number.format(Math.round(this.#done / seconds))} a second` : ''
    part.pace.textContent = `${seconds.toFixed(1)} s${rate}`
    if (this.#latest.length === 0) return
    this.#panel.prepend(this.#panel.body(false), this.#latest)
    this.#latest = []
  }
}

class Refusal extends Error {}

// The lines of a stream, one by one.
async function* lines(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  try {
    while (true) {
      const { value, done } = await reader.read()
      if (done) return
      const parts = (rest + value).split('\n')
      rest = parts.pop()
      for (const part of parts) if (part) yield part
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

class Follow {
  #panel
  #source = null
  #count = 0

  constructor(panel) { this.#panel = panel }

  start() {
    this.stop()
    this.#count = 0
    this.#panel.begin()
    this.#open()
  }

  stop() {
    this.#source?.close()
    this.#source = null
  }

  turn() {
    if (!this.#source) return this.#open()
    this.stop()
    this.#panel.show(this, 'Paused', 'warn', 'Resume', 'Changes in the meantime appear on resume.')
  }

  #open() {
    const panel = this.#panel
    const { part } = panel
    const address = since(panel.root.dataset.followFrom, panel.token)
    const source = this.#source = new EventSource(address)
    part.progress.hidden = true
    part.pace.textContent = ''
    panel.show(this, 'Connecting', 'faint', 'Pause')
    panel.turn.focus()
    this.#draw()
    source.addEventListener('open', () => panel.show(this, 'Live', 'good', 'Pause'))
    source.addEventListener('changes', event => this.#take(JSON.parse(event.data)))
    source.addEventListener('error', () => {
      if (source.readyState !== EventSource.CLOSED) return panel.show(this, 'Reconnecting', 'warn', 'Pause', 'No change is missed.')
      this.stop()
      this.#explain(address)
    })
  }

  #take({ changes, syncToken }) {
    const panel = this.#panel
    this.#count += changes.length
    if (changes.length > 0) {
      panel.prepend(panel.body(false), changes.map(change => summary(change, panel.titles)))
      const latest = changes.at(-1)
      panel.say(`${this.#draw()}: ${latest.record.recordName} ${latest.change ?? 'saved'}`)
    }
    panel.follow(syncToken)
  }

  #draw() {
    const text = `${number.format(this.#count)} ${this.#count === 1 ? 'change' : 'changes'} followed`
    this.#panel.part.count.textContent = text
    return text
  }

  // An event source does not expose its error, so a plain request finds the reason.
  async #explain(address) {
    this.#panel.show(this, 'Stopped', 'bad', 'Resume')
    const abort = new AbortController()
    let why = 'The server does not answer.'
    try {
      const answer = await fetch(address, { signal: abort.signal })
      why = answer.ok ? 'The connection was lost.' : await reason(answer)
      abort.abort()
    } catch {}
    if (!this.#source) this.#panel.show(this, 'Stopped', 'bad', 'Resume', why)
  }
}
