// The page shows times in UTC. This script adds the local time.

const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' })
const short = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

export function enableTimes(root) {
  for (const time of root.querySelectorAll('time[datetime]')) {
    const date = new Date(time.dateTime)
    if (Number.isNaN(date.getTime())) continue
    const local = format.format(date)
    time.title = `UTC. Here: ${local}`
    if (!time.closest('.full, .facts') || time.closest('.values')) continue
    const isUTC = date.getTimezoneOffset() === 0
    if (!time.closest('.about')) {
      time.append(note(isUTC ? ' UTC' : ` UTC, ${local} here`))
      continue
    }
    time.append(note(' UTC'))
    if (!isUTC) time.append(Object.assign(note(`${short.format(date)} here`), { className: 'here' }))
  }
}

function note(text) {
  return Object.assign(document.createElement('span'), { className: 'faint', textContent: text })
}
