// Formats sizes, rates and durations like the pages do: in powers of 1024, as Digits on the server.

export function bytes(count) {
  if (count === 1) return '1 byte'
  if (count < 1024) return `${count.toLocaleString('en')} bytes`
  const units = ['KB', 'MB', 'GB', 'TB', 'PB']
  let value = count
  for (const unit of units) {
    value /= 1024
    if (value < 1023.5 || unit === 'PB') return `${value.toFixed(value < 99.5 && !Number.isInteger(value) ? 1 : 0)} ${unit}`
  }
}

// '214 of 419 MB': both numbers use the unit of the total, so that the first number grows evenly.
export function part(done, total) {
  if (total < 1024) return `${done} of ${bytes(total)}`
  const [, unit] = bytes(total).split(' ')
  const scale = 1024 ** (['KB', 'MB', 'GB', 'TB', 'PB'].indexOf(unit) + 1)
  const digits = total / scale < 99.5 ? 1 : 0
  return `${(done / scale).toFixed(digits)} of ${bytes(total)}`
}

// Shows 100 only when everything is complete.
export function percent(done, total) {
  if (total === 0) return '100 %'
  return `${Math.floor(done / total * 100)} %`
}

export function seconds(count) {
  if (!Number.isFinite(count)) return ''
  if (count < 1) return 'less than 1 s'
  if (count < 90) return `${Math.round(count)} s`
  if (count < 5400) return `${Math.round(count / 60)} min`
  return `${(count / 3600).toFixed(1)} h`
}

// The current rate, over the last few seconds.
export class Pace {
  #samples = []

  note(total, now = performance.now()) {
    this.#samples.push([now, total])
    while (this.#samples.length > 2 && now - this.#samples[0][0] > 3000) this.#samples.shift()
  }

  // Bytes per second; 0 if the rate is unknown.
  rate(now = performance.now()) {
    const [first] = this.#samples
    const last = this.#samples.at(-1)
    if (!first || now - first[0] < 200) return 0
    return Math.max(0, (last[1] - first[1]) / (now - first[0]) * 1000)
  }

  clear() { this.#samples = [] }
}
