// Parses binary property lists (CFBinaryPList.c describes the format) and formats them as text. The input is
// untrusted: size, depth and the number of values are limited, and references outside of the file are errors.
import { readableArchive } from './archive.js'

const depthLimit = 64
const valueLimit = 50_000
const textLimit = 1_000_000
// The size limit of decoded texts, because several references can share the same bytes.
const decodedLimit = 4_000_000
// The seconds from 1970 to 2001, the reference date of property lists.
const epoch = 978_307_200

// A UID, which refers to an object in a keyed archive.
export class Reference {
  constructor(index) { this.index = index }
}

export function propertyListText(bytes) {
  const value = propertyList(bytes)
  const archive = readableArchive(value)
  return { text: text(archive ?? value), isArchive: archive !== null }
}

export function propertyList(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (bytes.length < 40) throw new Error('The property list is cut off')
  const trailer = bytes.length - 32
  const offsetSize = bytes[trailer + 6]
  const indexSize = bytes[trailer + 7]
  const count = Number(view.getBigUint64(trailer + 8))
  const top = Number(view.getBigUint64(trailer + 16))
  const table = Number(view.getBigUint64(trailer + 24))
  if (count > 10 * valueLimit || offsetSize < 1 || indexSize < 1 || table + count * offsetSize > trailer) throw damaged()
  let made = 0
  let decoded = 0
  // Decoded texts by their offset, because they can be referenced repeatedly.
  const texts = new Map()
  const open = new Set()

  function integer(place, size) {
    if (place < 0 || place + size > trailer || size > 16) throw damaged()
    // 8-byte integers are signed, 16-byte integers hold larger values.
    if (size === 8) return view.getBigInt64(place)
    if (size === 16) return view.getBigInt64(place) << 64n | view.getBigUint64(place + 8)
    let value = 0n
    for (let index = 0; index < size; index += 1) value = value << 8n | BigInt(bytes[place + index])
    return value
  }

  function slice(place, length) {
    if (place + length > trailer) throw damaged()
    return bytes.subarray(place, place + length)
  }

  function string(place, start, length, encoding) {
    if (texts.has(place)) return texts.get(place)
    const encoded = slice(start, length)
    decoded += length
    if (decoded > decodedLimit) throw new Error(`The property list has more than ${decodedLimit} bytes of text`)
    const text = new TextDecoder(encoding).decode(encoded)
    texts.set(place, text)
    return text
  }

  function read(index) {
    if (!(index < count)) throw damaged()
    if (open.has(index)) throw new Error('The property list contains itself')
    if (open.size > depthLimit) throw new Error(`The property list is nested deeper than ${depthLimit} levels`)
    made += 1
    if (made > valueLimit) throw new Error(`The property list has more than ${valueLimit} values`)
    open.add(index)
    const value = object(Number(integer(table + index * offsetSize, offsetSize)))
    open.delete(index)
    return value
  }

  function object(place) {
    if (place < 8 || place >= trailer) throw damaged()
    const kind = bytes[place] >> 4
    let length = bytes[place] & 15
    let start = place + 1
    if (kind >= 4 && kind !== 8 && length === 15) {
      const size = 1 << (bytes[start] & 15)
      length = Number(integer(start + 1, size))
      start += 1 + size
      if (length > trailer) throw damaged()
    }
    const at = position => read(Number(integer(start + position * indexSize, indexSize)))
    switch (kind) {
      case 0: return length === 8 ? false : length === 9 ? true : null
      case 1: return integer(start, 1 << length)
      case 2: {
        slice(start, 1 << length)
        return length === 2 ? view.getFloat32(start) : length === 3 ? view.getFloat64(start) : null
      }
      case 3:
        slice(start, 8)
        return new Date((view.getFloat64(start) + epoch) * 1000)
      case 4: return slice(start, length)
      case 5: return string(place, start, length, 'latin1')
      case 6: return string(place, start, 2 * length, 'utf-16be')
      case 8: return new Reference(Number(integer(start, length + 1)))
      case 10: case 11: case 12:
        return Array.from({ length: Math.min(length, valueLimit + 1) }, (_, position) => at(position))
      case 13: {
        const members = new Map()
        for (let position = 0; position < Math.min(length, valueLimit + 1); position += 1) members.set(at(position), at(length + position))
        return members
      }
      default: throw damaged()
    }
  }

  return read(top)
}

function damaged() {
  return new Error('The property list is damaged')
}

// The format of plutil -p: indented members with =>.
function text(value) {
  const pieces = []
  let length = 0
  const put = piece => {
    length += piece.length
    if (length > textLimit) throw new Error(`Laid out, the property list is longer than ${textLimit} letters`)
    pieces.push(piece)
  }
  const write = (value, indentation) => {
    const inner = `${indentation}  `
    if (value instanceof Map) {
      put(value.size === 0 ? '{}' : '{\n')
      for (const [name, member] of value) {
        put(`${inner}${plain(name)} => `)
        write(member, inner)
        put('\n')
      }
      if (value.size > 0) put(`${indentation}}`)
    } else if (Array.isArray(value)) {
      put(value.length === 0 ? '[]' : '[\n')
      value.forEach((element, index) => {
        put(`${inner}${index} => `)
        write(element, inner)
        put('\n')
      })
      if (value.length > 0) put(`${indentation}]`)
    } else put(plain(value))
  }
  write(value, '')
  return pieces.join('')
}

function plain(value) {
  if (typeof value === 'string') return quoted(value)
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'a date beyond the calendar' : value.toISOString()
  if (value instanceof Reference) return `UID ${value.index}`
  if (value instanceof Uint8Array) {
    const digits = [...value.subarray(0, 24)].map(byte => byte.toString(16).padStart(2, '0')).join(' ')
    return `{length = ${value.length}, bytes = ${digits}${value.length > 24 ? ' …' : ''}}`
  }
  // A short description for use as a key.
  if (value instanceof Map || Array.isArray(value)) return 'a collection'
  // A description of an archived object, from archive.js.
  if (value?.note) return value.note
  return String(value)
}

function quoted(text) {
  return JSON.stringify(text)
}
