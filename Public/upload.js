// Uploads chosen or dropped files to the asset fields of a record, and removes files. Uses
// the server's web services like any client. Reads a file from the disk while sending it.
import { bytes, part, percent, seconds, Pace } from './sizes.js'

// The maximum number of concurrent uploads.
const limit = 3

// - changed: shows the record with other files; its page, if it is missing.
export function enableUploads(root = document, changed = undefined) {
  const section = root.querySelector('[data-assets]')
  if (!section) return
  const record = new RecordWithAssets(section, changed)
  for (const element of section.querySelectorAll('[data-field]')) new AssetField(element, record)
  // A file dropped beside a field must not replace the page.
  for (const kind of ['dragover', 'drop']) {
    root.addEventListener(kind, event => {
      if (event.dataTransfer?.types.includes('Files') && !event.defaultPrevented) event.preventDefault()
    })
  }
}

// Files in the form of a record: saves the record, then sends its files and saves them in their fields, in one press.
export function enableFormFiles() {
  const form = document.querySelector('form[data-editor]:has([data-field-file])')
  if (!form) return
  const inputs = [...form.querySelectorAll('[data-field-file]')]
  const bar = form.querySelector('.savebar')
  const said = Object.assign(document.createElement('p'), { hidden: true })
  said.setAttribute('role', 'status')
  bar.append(said)
  const say = text => {
    said.textContent = text
    said.hidden = false
  }
  let isBusy = false
  form.addEventListener('submit', async event => {
    const chosen = inputs.filter(input => input.files.length > 0)
    const button = event.submitter ?? form.querySelector('button.go')
    if (chosen.length === 0 || !['save', 'anew'].includes(button.value)) return
    event.preventDefault()
    if (isBusy) return
    isBusy = true
    let saved = null
    try {
      say('Saving the record…')
      const body = new URLSearchParams(new FormData(form))
      body.set('do', button.value)
      const answer = await fetch(form.getAttribute('action'), { method: 'POST', headers: { Accept: 'text/html' }, body })
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
      const section = page.querySelector('[data-assets]')
      if (!answer.ok || !answer.redirected || !section) {
        // Nothing was saved. The page of the form says why.
        for (const input of chosen) input.value = ''
        return form.requestSubmit(button)
      }
      saved = answer.url
      const record = new RecordWithAssets(section)
      for (const input of chosen) await sendFiles(input, record, page, say)
      location.assign(saved)
    } catch (error) {
      said.setAttribute('role', 'alert')
      say(saved ? `The record is saved, but not its files: ${error.message} ` : `The server can't be reached: ${error.message}`)
      // Another press would save the record once more.
      if (saved) said.append(Object.assign(document.createElement('a'), { href: saved, textContent: 'Add them on the page of the record' }))
      else isBusy = false
    }
  })
}

async function sendFiles(input, record, page, say) {
  const field = input.dataset.fieldFile
  const files = [...input.files]
  const large = files.find(file => file.size > record.limit)
  if (large) throw new Refusal({ reason: `${large.name} is larger than ${record.limitText}.` })
  const kept = page.querySelector(`[data-field="${CSS.escape(field)}"]`)?.querySelectorAll('[data-asset]') ?? []
  const urls = await record.grants(field, files.length)
  const uploads = files.map((file, index) => new Upload(file, urls[index], record))
  const list = Object.assign(document.createElement('ul'), { className: 'uploads' })
  list.append(...uploads.map(upload => upload.element))
  input.after(list)
  say('Sending the files…')
  await together(uploads.map(upload => () => upload.run()))
  const failed = uploads.find(upload => upload.failure)
  if (failed) throw failed.failure
  const sent = uploads.filter(upload => upload.asset).map(upload => upload.asset)
  if (sent.length === 0) return
  const assets = [...kept].map(file => JSON.parse(file.dataset.asset))
  await record.save(field, input.multiple ? [...assets, ...sent] : sent[0], input.multiple ? 'ASSETID_LIST' : 'ASSETID')
}

// The form secret of the page, which changes require if the console has a sign-in.
function formSecret() {
  const secret = document.querySelector('meta[name=form-secret]')?.content
  return secret ? { 'X-Skylight-Form': secret } : {}
}

// An error from the web services.
class Refusal extends Error {
  constructor({ reason, serverErrorCode }, status) {
    super(reason ?? `The server answered ${status}`)
    this.code = serverErrorCode ?? ''
  }
}

// The record of the page, and the requests that change it.
class RecordWithAssets {
  constructor(section, changed) {
    this.changed = changed
    const { database, zone, recordName, recordType, tag, user, limit, limitText, here } = section.dataset
    Object.assign(this, { section, database, zoneID: JSON.parse(zone), recordName, recordType, tag, user, limit: Number(limit), limitText, here })
  }

  say(text) { this.section.querySelector('[data-said]').textContent = text }

  // Requests upload addresses for a number of files.
  async grants(field, count) {
    const token = { recordType: this.recordType, recordName: this.recordName, fieldName: field }
    const { tokens } = await this.#ask('assets/upload', { tokens: Array(count).fill(token), zoneID: this.zoneID })
    for (const token of tokens) if (token.serverErrorCode) throw new Refusal(token)
    // Uses the origin of this page, which is known to reach the server.
    return tokens.map(({ url }) => new URL(url, location.href)).map(({ pathname, search }) => pathname + search)
  }

  // Saves the field, provided that the record has not changed since the page was loaded.
  async save(field, value, type) {
    const fields = { [field]: value === null ? { value: null } : { value, type } }
    const record = { recordName: this.recordName, recordType: this.recordType, recordChangeTag: this.tag, fields }
    const { records } = await this.#ask('records/modify', { operations: [{ operationType: 'update', record }], zoneID: this.zoneID })
    if (records[0].serverErrorCode) throw new Refusal(records[0])
    this.tag = records[0].recordChangeTag
  }

  // Shows the current record.
  show(notice) { this.changed ? this.changed() : location.replace(`${this.here}${notice ? `&notice=${notice}` : ''}`) }

  async #ask(endpoint, body) {
    const answer = await fetch(`${this.database}/${endpoint}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Skylight-User': this.user, 'X-Skylight-Access': 'owner', ...formSecret() },
      body: JSON.stringify(body),
    })
    const object = await answer.json().catch(() => ({}))
    if (!answer.ok) throw new Refusal(object, answer.status)
    return object
  }
}

class AssetField {
  #record
  #element
  #name
  #isList
  #drop
  #input
  #uploads
  #trouble
  #isBusy = false

  constructor(element, record) {
    this.#record = record
    this.#element = element
    this.#name = element.dataset.field
    this.#isList = 'list' in element.dataset
    this.#drop = element.querySelector('[data-drop]')
    this.#input = this.#drop.querySelector('input')
    this.#uploads = element.querySelector('[data-uploads]')
    this.#trouble = element.querySelector('[data-trouble]')
    this.#input.addEventListener('change', () => {
      this.#take([...this.#input.files])
      this.#input.value = ''
    })
    this.#takeDrops()
    for (const file of element.querySelectorAll('[data-asset]')) this.#offerRemoval(file)
  }

  // The assets that the page shows in this field.
  get #assets() { return [...this.#element.querySelectorAll('[data-asset]')].map(file => JSON.parse(file.dataset.asset)) }

  #takeDrops() {
    const element = this.#element
    let depth = 0
    const holdsFiles = event => event.dataTransfer?.types.includes('Files')
    element.addEventListener('dragenter', event => {
      if (!holdsFiles(event)) return
      depth += 1
      element.classList.add('over')
    })
    element.addEventListener('dragleave', event => {
      if (!holdsFiles(event)) return
      depth -= 1
      if (depth === 0) element.classList.remove('over')
    })
    element.addEventListener('dragover', event => {
      if (!holdsFiles(event)) return
      event.preventDefault()
      event.dataTransfer.dropEffect = 'copy'
    })
    element.addEventListener('drop', event => {
      if (!holdsFiles(event)) return
      event.preventDefault()
      depth = 0
      element.classList.remove('over')
      // Dropped folders are entries that can't be read as files.
      const items = [...event.dataTransfer.items].filter(item => item.kind === 'file')
      if (items.some(item => item.webkitGetAsEntry?.()?.isDirectory)) return this.#complain(new Refusal({ reason: 'Folders are not uploaded; drop the files in it.' }))
      this.#take([...event.dataTransfer.files])
    })
  }

  async #take(files) {
    if (files.length === 0 || this.#isBusy) return
    this.#trouble.hidden = true
    if (files.length > 1 && !this.#isList) return this.#complain(new Refusal({ reason: `${this.#name} takes one file, not ${files.length}.` }))
    const large = files.find(file => file.size > this.#record.limit)
    if (large) {
      return this.#complain(
        new Refusal({ reason: `${large.name} has ${grouped(large.size)} bytes; this server takes files of up to ${this.#record.limitText}, ${grouped(this.#record.limit)} bytes. Nothing was sent.` }))
    }
    await this.#busy(async () => {
      const urls = await this.#record.grants(this.#name, files.length)
      const uploads = files.map((file, index) => new Upload(file, urls[index], this.#record))
      this.#uploads.replaceChildren(...uploads.map(upload => upload.element))
      await together(uploads.map(upload => () => upload.run()))
      const sent = uploads.filter(upload => upload.asset).map(upload => upload.asset)
      const failed = uploads.find(upload => upload.failure)
      if (failed) throw failed.failure
      if (sent.length === 0) return this.#uploads.replaceChildren()
      this.#record.say('Saving the record')
      await this.#record.save(this.#name, this.#isList ? [...this.#assets, ...sent] : sent[0], this.#isList ? 'ASSETID_LIST' : 'ASSETID')
      this.#record.show('asset-saved')
    })
  }

  // Asks for confirmation, because the bytes may be lost.
  #offerRemoval(file) {
    const button = file.querySelector('[data-remove]')
    const label = button.getAttribute('aria-label')
    let isAsking = false
    const ask = really => {
      isAsking = really
      button.textContent = really ? 'Really remove' : 'Remove…'
      button.setAttribute('aria-label', really ? label.replace('Remove', 'Really remove') : label)
      button.classList.toggle('go', really)
    }
    button.addEventListener('blur', () => ask(false))
    button.addEventListener('click', async () => {
      if (!isAsking) return ask(true)
      await this.#busy(async () => {
        const rest = [...this.#element.querySelectorAll('[data-asset]')].filter(other => other !== file).map(other => JSON.parse(other.dataset.asset))
        await this.#record.save(this.#name, this.#isList && rest.length > 0 ? rest : null, this.#isList ? 'ASSETID_LIST' : 'ASSETID')
        this.#record.show('asset-removed')
      })
      ask(false)
    })
  }

  async #busy(work) {
    if (this.#isBusy) return
    this.#isBusy = true
    this.#trouble.hidden = true
    this.#input.disabled = true
    this.#element.setAttribute('aria-busy', 'true')
    try {
      await work()
    } catch (error) {
      this.#complain(error)
    }
    this.#isBusy = false
    this.#input.disabled = false
    this.#element.removeAttribute('aria-busy')
  }

  #complain(error) {
    const [reason, code, remedy] = ['reason', 'code', 'remedy'].map(name => this.#trouble.querySelector(`[data-${name}]`))
    const isConflict = error.code === 'CONFLICT'
    reason.textContent = isConflict ? 'The record was saved by someone else. Nothing was changed.' : error instanceof Refusal ? error.message : `The server can't be reached: ${error.message}`
    code.textContent = error.code ? `${error.code} · as the API returns it` : ''
    remedy.replaceChildren()
    if (isConflict) {
      const button = document.createElement('button')
      button.type = 'button'
      button.textContent = 'Load the current record'
      button.addEventListener('click', () => this.#record.show())
      remedy.append(button)
    }
    remedy.hidden = !isConflict
    this.#trouble.hidden = false
  }
}

// One upload, with its row on the page.
class Upload {
  asset = null
  failure = null
  #file
  #url
  #record
  #request = null
  #isCancelled = false
  #pace = new Pace()
  #part

  constructor(file, url, record) {
    this.#file = file
    this.#url = url
    this.#record = record
    this.element = document.importNode(record.section.querySelector('template[data-upload]').content.firstElementChild, true)
    this.#part = Object.fromEntries(['name', 'percent', 'now', 'cancel'].map(name => [name, this.element.querySelector(`[data-${name}]`)]))
    this.#part.progress = this.element.querySelector('progress')
    this.#part.progress.setAttribute('aria-label', `Upload of ${file.name}`)
    this.#part.name.textContent = file.name
    this.#part.now.textContent = 'waiting'
    this.#part.cancel.setAttribute('aria-label', `Cancel the upload of ${file.name}`)
    this.#part.cancel.addEventListener('click', () => this.#cancel())
  }

  // Resolves at the end of the upload, with `asset`, `failure` or neither.
  async run() {
    if (this.#isCancelled) return
    try {
      this.asset = await this.#send()
      this.#part.cancel.hidden = true
      if (this.asset) this.#part.now.textContent = 'sent'
    } catch (error) {
      this.failure = error
      this.#part.cancel.hidden = true
      this.#part.now.textContent = 'not sent'
    }
  }

  // Uses XMLHttpRequest, because fetch does not report upload progress.
  #send() {
    return new Promise((resolve, reject) => {
      const request = this.#request = new XMLHttpRequest()
      request.open('POST', this.#url)
      request.setRequestHeader('X-Skylight-User', this.#record.user)
      const name = encodedName(this.#file.name)
      if (name !== null) request.setRequestHeader('X-Skylight-File-Name', name)
      request.setRequestHeader('Content-Type', 'application/octet-stream')
      request.upload.addEventListener('progress', event => this.#draw(event.loaded))
      request.addEventListener('load', () => {
        const answer = parsed(request.responseText)
        if (request.status === 200 && answer.singleFile) resolve(answer.singleFile)
        else reject(new Refusal(answer, request.status))
      })
      request.addEventListener('error', () => reject(new Refusal({ reason: `The connection was lost while ${this.#file.name} was sent. Nothing is changed; try again.` })))
      request.addEventListener('abort', () => resolve(null))
      request.send(this.#file)
      this.#draw(0)
    })
  }

  #draw(sent) {
    const { progress, percent: share, now } = this.#part
    const total = this.#file.size
    this.#pace.note(sent)
    Object.assign(progress, total === 0 ? { max: 1, value: 1 } : { max: total, value: sent })
    share.textContent = percent(sent, total)
    const rate = this.#pace.rate()
    now.textContent = sent === total ? 'the server is checking it' : rate > 0 ? `${part(sent, total)} · ${bytes(Math.round(rate))}/s · ${seconds((total - sent) / rate)} left` : part(sent, total)
  }

  #cancel() {
    this.#isCancelled = true
    this.#request?.abort()
    this.#part.now.textContent = 'cancelled'
    this.#part.cancel.hidden = true
    this.#record.say(`The upload of ${this.#file.name} is cancelled`)
  }
}

// Encodes a name for a header; null if the name contains a lone surrogate.
export function encodedName(name) {
  try {
    return encodeURIComponent(name.toWellFormed?.() ?? name)
  } catch {
    return null
  }
}

function grouped(number) {
  return number.toLocaleString('en')
}

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

// Runs a few tasks at a time.
async function together(works) {
  const rest = [...works]
  const one = async () => { while (rest.length > 0) await rest.shift()() }
  await Promise.all(Array.from({ length: limit }, one))
}
