// Downloads a few files at a time, each with its own progress. Reports to a listener and does not depend on the page.
import { Pace } from './sizes.js'

// The maximum number of concurrent downloads.
export const limit = 3

// One file. Its state is new, waiting, fetching, paused, failed or done.
export class Download {
  state = 'new'
  received = 0
  reason = ''
  // True if the server sent the whole file although only the rest was requested.
  isOver = false
  isStopped = false
  pace = new Pace()
  worker = null
  digest = undefined
  // An address is renewed only once per attempt. After that, the file is treated as missing.
  isRenewed = false
  // Aborts the request for another address.
  renewal = null

  constructor({ name, url, size, checksum, number }) {
    Object.assign(this, { name, url, size, checksum })
    // The name in the private file system, where the file's own name might be invalid, and so might be a checksum in base64.
    this.keptAs = `${number}-${checksum.replace(/[^A-Za-z0-9]/g, '_')}`
  }

  get isUnderWay() { return this.state === 'waiting' || this.state === 'fetching' }
}

export class Downloads {
  #files
  #changed
  #renew
  #waiting = []
  #active = new Set()

  // changed: called after every state change of a file. renew: returns a new address
  // for a file whose address has expired, or nothing if it fails or is aborted.
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

  // Keeps the received bytes. A reloaded page has them still.
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

  // Resolves with the last message of the worker.
  async #run(download) {
    const folder = await this.#files.open()
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
        // The number of written bytes is unknown.
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
