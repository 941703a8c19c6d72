// Files that come down, a few at a time, each with its own progress. What shows them listens; nothing here knows of the page.
import { Pace } from './sizes.js'

// Files that are fetched at the same time. Others wait.
export const limit = 3

// One file: new, waiting, fetching, paused, failed or done.
export class Download {
  state = 'new'
  received = 0
  reason = ''
  // The server sent the file from its beginning though only the rest was asked for.
  isOver = false
  isStopped = false
  pace = new Pace()
  worker = null
  digest = undefined
  // An address is renewed once each time, then it is the file that is not there.
  isRenewed = false
  // Ends the request for another address.
  renewal = null

  constructor({ name, url, size, checksum, number }) {
    Object.assign(this, { name, url, size, checksum })
    // In the private file system; the file's own name might be none there.
    this.keptAs = String(number)
  }

  get isUnderWay() { return this.state === 'waiting' || this.state === 'fetching' }
}

export class Downloads {
  #files
  #changed
  #renew
  #waiting = []
  #active = new Set()

  // changed: called after every turning point of a file. renew: gives a new address of a file whose address has expired, or none when
  // it can't or is told to stop.
  constructor(files, { changed, renew }) {
    this.#files = files
    this.#changed = changed
    this.#renew = renew
  }

  start(download) {
    if (download.isUnderWay || download.state === 'done') return
    Object.assign(download, { reason: '', isOver: false, isStopped: false, isRenewed: false, renewal: new AbortController() })
    this.#waiting.push(download)
    this.#turn(download, 'waiting')
    this.#next()
  }

  // Keeps what has come so far.
  stop(download) {
    if (!download.isUnderWay) return
    download.isStopped = true
    download.worker?.postMessage('stop')
    download.renewal.abort()
    if (!this.#waiting.includes(download)) return
    this.#waiting = this.#waiting.filter(other => other !== download)
    this.#turn(download, 'paused')
  }

  #next() {
    while (this.#active.size < limit && this.#waiting.length > 0) this.#fetch(this.#waiting.shift())
  }

  async #fetch(download) {
    this.#active.add(download)
    download.pace.clear()
    this.#turn(download, 'fetching')
    let end = await this.#run(download)
    if (end.isExpired && !download.isRenewed && !download.isStopped) {
      download.isRenewed = true
      const url = await this.#renew(download, download.renewal.signal)
      if (download.isStopped) end = { end: 'stopped' }
      else if (url) {
        download.url = url
        end = await this.#run(download)
      }
    }
    download.reason = end.reason ?? ''
    this.#active.delete(download)
    this.#turn(download, { done: 'done', stopped: 'paused' }[end.end] ?? 'failed')
    this.#next()
  }

  // Resolves with what the worker says last.
  async #run(download) {
    let folder
    try {
      folder = await this.#files.open()
    } catch (error) {
      return { end: 'failed', reason: `The browser keeps no files for this page: ${error.message}` }
    }
    if (download.isStopped) return { end: 'stopped' }
    const worker = download.worker = new Worker(new URL('fetcher.js', import.meta.url), { type: 'module' })
    const end = await new Promise(resolve => {
      worker.addEventListener('message', ({ data }) => {
        download.received = data.received
        download.isOver ||= Boolean(data.isOver)
        download.pace.note(data.received)
        if (data.end) resolve(data)
      })
      worker.addEventListener('error', event => {
        event.preventDefault()
        // How much of it was written is not known for sure.
        download.received = 0
        resolve({ end: 'failed', reason: event.message || 'The browser stopped fetching' })
      })
      const { url, size, checksum, received, digest } = download
      worker.postMessage({ url, size, checksum, received, digest, folder: folder.name, name: download.keptAs })
    })
    worker.terminate()
    download.worker = null
    download.digest = end.digest
    return end
  }

  #turn(download, state) {
    download.state = state
    this.#changed(download)
  }
}
