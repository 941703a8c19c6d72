// Previews a file within the page. Text is always shown as plain text: no file is interpreted as HTML or framed.
import { bytes } from './sizes.js'

// Limits in bytes: of the text that is shown, and of files that are formatted as a whole.
const textLimit = 65_536
const layoutLimit = 2_000_000

export function enablePreviews(root = document) {
  const dialog = root.querySelector('[data-preview-dialog]')
  const buttons = root.querySelectorAll('button[data-preview]')
  if (!dialog?.showModal || buttons.length === 0) return
  const preview = new Preview(dialog)
  for (const button of buttons) {
    button.hidden = false
    button.addEventListener('click', () => preview.open({ name: button.dataset.name, url: button.dataset.href, size: Number(button.dataset.size) }))
  }
}

class Preview {
  #dialog
  #part
  #abort = null

  constructor(dialog) {
    this.#dialog = dialog
    this.#part = Object.fromEntries(['name', 'facts', 'content', 'download', 'close'].map(name => [name, dialog.querySelector(`[data-${name}]`)]))
    this.#part.close.addEventListener('click', () => dialog.close())
    dialog.addEventListener('close', () => {
      this.#abort?.abort()
      // Stops audio and video.
      this.#part.content.replaceChildren()
    })
  }

  async open({ name, url, size }) {
    const part = this.#part
    this.#abort?.abort()
    const { signal } = this.#abort = new AbortController()
    part.name.textContent = name
    part.facts.textContent = bytes(size)
    part.download.href = url
    part.download.download = name
    part.content.replaceChildren(paragraph('Looking…'))
    this.#dialog.showModal()
    part.close.focus()
    try {
      const { element, facts } = await shown({ name, url, size, signal })
      if (signal.aborted) return
      part.content.replaceChildren(element)
      part.facts.textContent = [bytes(size), ...facts].join(' · ')
    } catch (error) {
      if (signal.aborted) return
      part.content.replaceChildren(paragraph(error.message, 'bad'))
    }
  }
}

async function shown({ name, url, size, signal }) {
  if (size === 0) return { element: paragraph('The file is empty.'), facts: [] }
  const { head, type } = await read(url, 0, Math.min(size, textLimit), signal)
  const kind = type.split('/')[0]
  if (kind === 'image') return { element: await image(url, name), facts: [type] }
  if (kind === 'audio' || kind === 'video') return { element: await player(kind, url, name), facts: [type] }
  const whole = async () => size <= head.length ? head : join(head, (await read(url, head.length, size, signal)).head)
  if (startsWith(head, 'bplist00')) {
    if (size > layoutLimit) return { element: code(hexadecimal(head)), facts: [`binary property list, larger than ${bytes(layoutLimit)}`] }
    const { propertyListText } = await import('./plist.js')
    const { text, isArchive } = propertyListText(await whole())
    return { element: code(text), facts: [isArchive ? 'NSKeyedArchiver archive in a binary property list' : 'binary property list'] }
  }
  if (kind !== 'text' && !/json|xml|plist/.test(type)) {
    return { element: code(hexadecimal(head)), facts: [type, 'no preview for this type; first bytes'] }
  }
  const encoding = /charset=([\w-]+)/.exec(type)?.[1] ?? 'utf-8'
  const isWhole = size <= head.length
  const text = decoded(head, encoding)
  const facts = [isPropertyList(text) ? 'property list in XML' : type.split(';')[0], ...isWhole ? [] : [`the first ${bytes(head.length)}`]]
  if (size <= layoutLimit && (/json/.test(type) || /^\s*[[{]/.test(text))) {
    const { laidOut } = await import('./json.js')
    const tidy = laidOut(decoded(await whole(), encoding))
    if (tidy !== null) return { element: code(tidy), facts: ['JSON, laid out'] }
  }
  return { element: code(text), facts }
}

// A byte range of the file, with its content type.
async function read(url, from, to, signal) {
  const answer = await fetch(url, { headers: { Range: `bytes=${from}-${to - 1}` }, signal, cache: 'no-store' })
  if (!answer.ok) throw new Error(await reason(answer))
  const type = answer.headers.get('Content-Type') ?? 'application/octet-stream'
  const wanted = to - from
  const pieces = []
  let count = 0
  // Stops reading if the server sends more than requested.
  for (const reader = answer.body.getReader(); count < wanted;) {
    const { value, done } = await reader.read()
    if (done) break
    pieces.push(value)
    count += value.length
    if (count >= wanted) reader.cancel().catch(() => {})
  }
  return { head: join(...pieces).subarray(0, wanted), type }
}

async function reason(answer) {
  try {
    return (await answer.json()).reason ?? `The server answered ${answer.status}`
  } catch {
    return `The server answered ${answer.status}`
  }
}

function join(...pieces) {
  const all = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let place = 0
  for (const piece of pieces) {
    all.set(piece, place)
    place += piece.length
  }
  return all
}

function startsWith(head, text) {
  return [...text].every((letter, index) => head[index] === letter.charCodeAt(0))
}

function isPropertyList(text) {
  return /^\s*(<\?xml[^>]*>\s*)?(<!DOCTYPE plist|<plist)/.test(text.slice(0, 500))
}

// Omits a truncated character at the end.
function decoded(head, encoding) {
  try {
    return new TextDecoder(encoding).decode(head, { stream: true })
  } catch {
    return new TextDecoder().decode(head, { stream: true })
  }
}

function hexadecimal(head) {
  const lines = []
  for (let place = 0; place < Math.min(head.length, 512); place += 16) {
    const row = [...head.subarray(place, place + 16)]
    const digits = row.map(byte => byte.toString(16).padStart(2, '0')).join(' ').padEnd(47)
    const letters = row.map(byte => byte > 31 && byte < 127 ? String.fromCharCode(byte) : '·').join('')
    lines.push(`${place.toString(16).padStart(4, '0')}  ${digits}  ${letters}`)
  }
  return lines.join('\n')
}

async function image(url, name) {
  const element = new Image()
  element.alt = name
  element.src = url
  try {
    await element.decode()
    return element
  } catch {
    return paragraph("This browser can't show the image; download it to view it.")
  }
}

async function player(kind, url, name) {
  const element = document.createElement(kind)
  element.controls = true
  element.preload = 'metadata'
  element.setAttribute('aria-label', name)
  element.src = url
  const isPlayable = await new Promise(resolve => {
    element.addEventListener('loadedmetadata', () => resolve(true))
    element.addEventListener('error', () => resolve(false))
  })
  return isPlayable ? element : paragraph(`This browser can't play the file; download it to ${kind === 'audio' ? 'listen to' : 'view'} it.`)
}

function code(text) {
  const element = document.createElement('pre')
  element.tabIndex = 0
  element.setAttribute('role', 'region')
  element.setAttribute('aria-label', 'Content of the file')
  element.textContent = text
  return element
}

function paragraph(text, className = 'faint') {
  const element = document.createElement('p')
  element.className = className
  element.textContent = text
  return element
}
