// Incremental SHA-256 (FIPS 180-4), because crypto.subtle requires the whole input at once.

const constants = new Int32Array(64)
const start = new Int32Array(8)

// The constants are the fractional parts of the square and cube roots of the first primes, computed with exact integers.
{
  const primes = []
  for (let number = 2n; primes.length < 64; number += 1n) if (primes.every(prime => number % prime !== 0n)) primes.push(number)
  primes.forEach((prime, index) => {
    if (index < 8) start[index] = Number(BigInt.asIntN(32, root(prime << 64n, 2n)))
    constants[index] = Number(BigInt.asIntN(32, root(prime << 96n, 3n)))
  })
}

// The largest integer whose power does not exceed a number.
function root(number, power) {
  let low = 0n
  let high = 1n << 40n
  while (low < high) {
    const middle = (low + high + 1n) >> 1n
    if (middle ** power <= number) low = middle
    else high = middle - 1n
  }
  return low
}

export class SHA256 {
  #state
  #block = new Uint8Array(64)
  #length = 0
  #words = new Int32Array(64)

  // Resumes from a `snapshot`.
  constructor(snapshot) {
    this.#state = Int32Array.from(snapshot?.state ?? start)
    this.#length = snapshot?.length ?? 0
    if (snapshot) this.#block.set(snapshot.block)
  }

  // The state for a later resume, as plain values.
  snapshot() {
    return { state: [...this.#state], block: this.#block.slice(0, this.#length % 64), length: this.#length }
  }

  update(bytes) {
    let place = 0
    const held = this.#length % 64
    this.#length += bytes.length
    if (held > 0) {
      const count = Math.min(64 - held, bytes.length)
      this.#block.set(bytes.subarray(0, count), held)
      if (held + count < 64) return this
      this.#mix(this.#block, 0)
      place = count
    }
    for (; place + 64 <= bytes.length; place += 64) this.#mix(bytes, place)
    if (place < bytes.length) this.#block.set(bytes.subarray(place), 0)
    return this
  }

  // The digest in hexadecimal digits. Ends the hash: no more input is possible.
  digest() {
    const bits = BigInt(this.#length) * 8n
    const held = this.#length % 64
    const padding = new Uint8Array((held < 56 ? 56 : 120) - held + 8)
    padding[0] = 0x80
    new DataView(padding.buffer).setBigUint64(padding.length - 8, bits)
    this.update(padding)
    return [...this.#state].map(word => (word >>> 0).toString(16).padStart(8, '0')).join('')
  }

  #mix(bytes, place) {
    const words = this.#words
    const state = this.#state
    for (let index = 0; index < 16; index += 1, place += 4) {
      words[index] = bytes[place] << 24 | bytes[place + 1] << 16 | bytes[place + 2] << 8 | bytes[place + 3]
    }
    for (let index = 16; index < 64; index += 1) {
      const near = words[index - 2]
      const far = words[index - 15]
      const s1 = (near >>> 17 | near << 15) ^ (near >>> 19 | near << 13) ^ near >>> 10
      const s0 = (far >>> 7 | far << 25) ^ (far >>> 18 | far << 14) ^ far >>> 3
      words[index] = words[index - 16] + s0 + words[index - 7] + s1 | 0
    }
    let a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7]
    for (let index = 0; index < 64; index += 1) {
      const s1 = (e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7)
      const t1 = h + s1 + (g ^ e & (f ^ g)) + constants[index] + words[index] | 0
      const s0 = (a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10)
      const t2 = s0 + (a & b | c & (a | b)) | 0
      h = g
      g = f
      f = e
      e = d + t1 | 0
      d = c
      c = b
      b = a
      a = t1 + t2 | 0
    }
    state[0] = state[0] + a | 0
    state[1] = state[1] + b | 0
    state[2] = state[2] + c | 0
    state[3] = state[3] + d | 0
    state[4] = state[4] + e | 0
    state[5] = state[5] + f | 0
    state[6] = state[6] + g | 0
    state[7] = state[7] + h | 0
  }
}
