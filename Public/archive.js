// Makes NSKeyedArchiver archives readable: resolves references, converts collections, strings,
// dates and UUIDs to plain values, and shows other objects as members with their class.
import { Reference } from './plist.js'

const depthLimit = 64
const objectLimit = 20_000
// The maximum number of elements and members, counted once per reference to their container.
const elementLimit = 50_000
// The size limit of combined URLs, in characters.
const joinedLimit = 1_000_000

// Returns null if the property list is not a keyed archive.
export function readableArchive(list) {
  if (!(list instanceof Map) || !list.has('$archiver') || !Array.isArray(list.get('$objects')) || !(list.get('$top') instanceof Map)) return null
  const objects = list.get('$objects')
  const open = new Set()
  let made = 0
  let elements = 0
  let joined = 0

  function count(more) {
    elements += more
    if (elements > elementLimit) throw new Error(`Written out, the archive has more than ${elementLimit} elements`)
  }

  function resolved(value) {
    if (value instanceof Reference) return object(value.index)
    if (Array.isArray(value)) {
      count(value.length)
      return value.map(resolved)
    }
    if (!(value instanceof Map)) return value
    count(value.size)
    return new Map([...value].map(([name, member]) => [name, resolved(member)]))
  }

  function object(index) {
    const value = objects[index]
    if (index === 0 || value === '$null') return null
    if (value === undefined) return note(`nothing at ${index}`)
    if (open.has(index)) return note(`↩ object ${index}, which contains this one`)
    if (open.size > depthLimit) return note(`… deeper than ${depthLimit} levels`)
    made += 1
    if (made > objectLimit) throw new Error(`Written out, the archive has more than ${objectLimit} objects`)
    if (!(value instanceof Map)) return value
    if (!value.has('$class')) return resolved(value)
    open.add(index)
    try {
      return instance(value)
    } finally {
      open.delete(index)
    }
  }

  function instance(value) {
    const type = className(value)
    const has = name => value.has(name)
    const all = name => { const list = value.get(name); return Array.isArray(list) ? resolved(list) : [] }
    if (has('NS.keys') && has('NS.objects')) {
      const members = all('NS.objects')
      return new Map(all('NS.keys').map((key, index) => [typeof key === 'string' ? key : short(key), members[index]]))
    }
    if (has('NS.objects')) return all('NS.objects')
    if (has('NS.string')) return resolved(value.get('NS.string'))
    if (has('NS.bytes')) return resolved(value.get('NS.bytes'))
    if (has('NS.data')) return resolved(value.get('NS.data'))
    if (has('NS.time')) return new Date((Number(value.get('NS.time')) + 978_307_200) * 1000)
    if (has('NS.uuidbytes')) return uuid(value.get('NS.uuidbytes'))
    if (has('NS.relative')) {
      const parts = ['NS.base', 'NS.relative'].map(name => resolved(value.get(name))).filter(part => typeof part === 'string')
      joined += parts.reduce((sum, part) => sum + part.length, 0)
      if (joined > joinedLimit) throw new Error(`Written out, the archive's addresses have more than ${joinedLimit} letters`)
      return parts.join('')
    }
    count(value.size)
    const members = [...value].filter(([name]) => name !== '$class').map(([name, member]) => [name, resolved(member)])
    return new Map([['class', note(type)], ...members])
  }

  function className(value) {
    const type = value.get('$class')
    const named = type instanceof Reference ? objects[type.index] : null
    const name = named instanceof Map ? named.get('$classname') : null
    return typeof name === 'string' ? name : 'unknown class'
  }

  const top = new Map([...list.get('$top')].map(([name, member]) => [name, resolved(member)]))
  return top.size === 1 && top.has('root') ? top.get('root') : top
}

function note(text) {
  return { note: text }
}

function short(key) {
  if (key === null || typeof key !== 'object') return String(key)
  return key.note ?? (key instanceof Date ? key.toISOString() : 'an object')
}

function uuid(bytes) {
  if (!(bytes instanceof Uint8Array) || bytes.length !== 16) return bytes
  const digits = [...bytes].map(byte => byte.toString(16).padStart(2, '0')).join('').toUpperCase()
  return [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20), digits.slice(20)].join('-')
}
