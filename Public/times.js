// The page shows times in UTC. This script adds the local time.

const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' })

export function enableTimes(root) {
  for (const time of root.querySelectorAll('time[datetime]')) {
    const date = new Date(time.dateTime)
    if (Number.isNaN(date.getTime())) continue
    const local = format.format(date)
    time.title = `UTC. Here: ${local}`
    if (!time.closest('.full, .facts') || time.closest('.values')) continue
    const note = document.createElement('span')
    note.className = 'faint'
    note.textContent = date.getTimezoneOffset() === 0 ? ' UTC' : ` UTC, ${local} here`
    time.append(note)
  }
}
