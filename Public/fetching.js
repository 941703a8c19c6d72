// The tab Fetch with assets. Each record shows the progress of its files, like
// perRecordProgressBlock of CKFetchRecordsOperation. The footer shows the total progress.
import { Download, Downloads, limit } from './downloads.js'
import { FetchedFiles, canKeepFiles } from './fetched.js'
import { bytes, part, percent, seconds } from './sizes.js'

// The interval between display updates, in milliseconds.
const pause = 200

// Larger answers are fetched only after a click.
const unaskedBytes = 20_000_000

// Returns once the page has the lock of its files. Where the browser keeps no files, the plain links stay.
export async function enableFetching() {
  const table = document.querySelector('[data-fetching]')
  const whole = document.querySelector('[data-whole]')
  if (!table || !whole || !canKeepFiles()) return
  const files = new FetchedFiles()
  if (await files.canOpen()) await new Fetching(table, whole, files).start()
}

class Fetching {
  #files
  #downloads
  #records
  #rows
  #whole
  #clock = null

  constructor(table, whole, files) {
    this.#files = files
    this.#downloads = new Downloads(files, { changed: download => this.#turned(download), renew: renewedAddress })
    let number = 0
    this.#records = [...table.querySelectorAll('[data-record]')].map(body => {
      const rows = [...body.querySelectorAll('[data-file]')].map(row => {
        const { file, href, bytes, checksum } = row.dataset
        number += 1
        return new Row(row, [new Download({ name: file, url: href, size: Number(bytes), checksum, number })], this)
      })
      const group = body.querySelector('[data-group]')
      const downloads = rows.flatMap(row => row.downloads)
      return { downloads, rows: group ? [new Row(group, downloads, this), ...rows] : rows }
    }).filter(record => record.downloads.length > 0)
    this.#rows = this.#records.flatMap(record => record.rows)
    this.#whole = new Whole(whole, this.#records, this)
  }

  get #all() { return this.#records.flatMap(record => record.downloads) }

  async start() {
    for (const link of document.querySelectorAll('[data-plain]')) link.hidden = true
    this.#draw()
    const all = this.#all
    for (const download of all) download.received = Math.min(download.size, await this.#files.size(download.keptAs))
    const total = sum(all, 'size')
    if (await this.#files.room() < total) this.#whole.warn(`The browser has no room for ${bytes(total)}. To download a file, click its name.`)
    const begun = all.filter(download => download.received > 0)
    if (total > unaskedBytes) for (const download of begun) if (download.received < download.size) download.state = 'paused'
    this.#draw()
    // A reloaded page checks the files that it has. It asks for the rest of a large answer only after a click.
    this.go(total <= unaskedBytes ? all : begun.filter(download => download.state === 'new'))
  }

  go(downloads) {
    for (const download of downloads) this.#downloads.start(download)
  }

  stop(downloads) {
    // Stops the waiting files first, so that they do not start when others stop.
    for (const state of ['waiting', 'fetching']) {
      for (const download of downloads) if (download.state === state) this.#downloads.stop(download)
    }
  }

  // Copies files to the downloads folder. The browser has them already.
  async save(downloads) {
    for (const download of downloads) {
      const file = await this.#files.file(download.keptAs)
      const url = URL.createObjectURL(file.slice(0, file.size, 'application/octet-stream'))
      const link = document.createElement('a')
      link.href = url
      link.download = download.name
      link.click()
      setTimeout(() => URL.revokeObjectURL(url), 60_000)
    }
  }

  #turned(download) {
    if (download.state === 'done') this.#whole.say(`${download.name} is fetched`)
    if (download.state === 'failed') this.#whole.say(`${download.name}: ${download.reason}`)
    if (download.state === 'paused') this.#whole.say(`${download.name} is paused`)
    this.#draw()
    const isRunning = this.#all.some(download => download.isUnderWay)
    if (isRunning) this.#clock ??= setInterval(() => this.#draw(), pause)
    else {
      clearInterval(this.#clock)
      this.#clock = null
    }
  }

  #draw() {
    for (const row of this.#rows) row.draw()
    this.#whole.draw()
  }
}

// The combined state of several files. A partly downloaded group waits for the rest.
function stateOf(downloads) {
  for (const state of ['fetching', 'waiting', 'failed', 'paused', 'new']) if (downloads.some(download => download.state === state)) return state
  return 'done'
}

function sum(downloads, key) {
  return downloads.reduce((sum, download) => sum + download[key], 0)
}

// Bytes per second of the files that are being fetched, in a row as in the footer.
function rateOf(downloads) {
  return downloads.reduce((sum, download) => sum + (download.state === 'fetching' ? download.pace.rate() : 0), 0)
}

function parts(root, names) {
  return Object.fromEntries(names.map(name => [name, root.querySelector(`[data-${name}]`)]))
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text
}

function setProgress(progress, done, total) {
  // An empty total counts as complete.
  Object.assign(progress, total === 0 ? { max: 1, value: 1 } : { max: total, value: done })
}

// A table row: a file, or a record with several files.
class Row {
  #part
  #progress
  #element

  constructor(element, downloads, fetching) {
    this.downloads = downloads
    this.#element = element
    this.#part = parts(element, ['meter', 'percent', 'does', 'now', 'turn', 'save'])
    this.#progress = element.querySelector('progress')
    this.#part.meter.hidden = this.#part.does.hidden = false
    this.#part.turn.addEventListener('click', () => {
      if (stateOf(downloads) === 'fetching' || stateOf(downloads) === 'waiting') fetching.stop(downloads)
      else fetching.go(downloads)
    })
    this.#part.save.addEventListener('click', () => fetching.save(downloads))
    this.#part.save.setAttribute('aria-label', `Save to disk: ${this.#name}`)
  }

  get #name() { return this.#element.dataset.file ?? `all of ${this.#element.closest('[data-record]').dataset.record}` }

  draw() {
    const { percent: share, now, turn, save } = this.#part
    const total = sum(this.downloads, 'size')
    const received = sum(this.downloads, 'received')
    const state = stateOf(this.downloads)
    this.#element.dataset.state = state
    setProgress(this.#progress, received, total)
    setText(share, state === 'done' ? '100 %' : percent(received, total))
    setText(now, this.#words(state, received, total))
    now.title = state === 'done' ? 'All bytes are fetched, and their SHA-256 matches the checksum of the record' : ''
    turn.hidden = state === 'done'
    const verb = { fetching: 'Pause', waiting: 'Pause', paused: 'Resume', failed: received > 0 ? 'Resume' : 'Retry' }[state] ?? 'Download'
    if (turn.textContent !== verb) {
      turn.textContent = verb
      turn.setAttribute('aria-label', `${verb} ${this.#name}`)
    }
    if (state === 'done' && save.hidden && document.activeElement === turn) requestAnimationFrame(() => save.focus())
    save.hidden = state !== 'done'
  }

  #words(state, received, total) {
    const [download] = this.downloads
    if (state === 'waiting') return 'waiting'
    if (state === 'paused') return received > 0 ? `paused at ${bytes(received)}` : 'paused'
    if (state === 'failed') return this.downloads.find(download => download.state === 'failed').reason
    if (state === 'done') return 'verified'
    if (state === 'new') return ''
    if (received === total) return 'checking'
    const over = this.downloads.length === 1 && download.isOver ? 'from the start, because the server could not resume · ' : ''
    return `${over}${part(received, total)} · ${pace(rateOf(this.downloads), total - received)}`
  }
}

function pace(rate, left) {
  if (rate === 0) return 'fetching'
  return `${bytes(Math.round(rate))}/s · ${seconds(left / rate)} left`
}

// The footer with the total of all records.
class Whole {
  #root
  #part
  #records
  #said = ''

  constructor(root, records, fetching) {
    this.#root = root
    this.#records = records
    this.#part = parts(root, ['state', 'progress', 'bytes', 'records', 'pace', 'turn', 'said'])
    root.hidden = records.length === 0
    this.#part.turn.addEventListener('click', () => {
      const all = this.#downloads
      if (all.some(download => download.isUnderWay)) fetching.stop(all)
      else fetching.go(all)
    })
  }

  get #downloads() { return this.#records.flatMap(record => record.downloads) }

  say(text) { this.#part.said.textContent = text }

  warn(text) {
    const note = document.createElement('p')
    note.className = 'note'
    note.setAttribute('role', 'alert')
    note.textContent = text
    document.querySelector('.answer').prepend(note)
  }

  draw() {
    const { state: word, progress, bytes: count, records, pace: speed, turn } = this.#part
    const all = this.#downloads
    const total = sum(all, 'size')
    const received = sum(all, 'received')
    const isRunning = all.some(download => download.isUnderWay)
    const state = isRunning ? 'fetching' : stateOf(all)
    const done = this.#records.filter(record => stateOf(record.downloads) === 'done').length
    this.#root.dataset.state = state
    setText(word, { fetching: 'Fetching', failed: 'Incomplete', paused: 'Paused', done: 'Fetched' }[state] ?? 'Not fetched')
    word.className = `state ${{ failed: 'bad', paused: 'warn', done: 'good' }[state] ?? 'faint'}`
    setProgress(progress, received, total)
    setText(count, state === 'done' ? bytes(total) : part(received, total))
    setText(records, `${done} of ${this.#records.length} ${this.#records.length === 1 ? 'record' : 'records'}`)
    setText(speed, isRunning ? `${limit} at a time · ${pace(rateOf(all), total - received)}` : '')
    turn.hidden = state === 'done'
    setText(turn, isRunning ? 'Pause all' : state === 'new' ? 'Download all' : 'Resume all')
    if (state !== this.#said && state === 'done') this.say(`${this.#records.length === 1 ? 'The record is' : `All ${this.#records.length} records are`} fetched, ${bytes(total)}`)
    this.#said = state
  }
}

// Reloading the page gives new addresses for the same files.
async function renewedAddress(download, signal) {
  try {
    const answer = await fetch(location.href, { headers: { Accept: 'text/html' }, cache: 'no-store', signal })
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    const row = [...page.querySelectorAll('[data-file]')].find(row => row.dataset.checksum === download.checksum && row.dataset.file === download.name)
    return row?.dataset.href ?? null
  } catch {
    return null
  }
}
