// Additions to record forms, which also work without this script: times in the local time
// zone, suggestions for references, and conversion between notations of bytes.

export function enableEditing() {
  for (const form of document.querySelectorAll('[data-editor]')) {
    for (const input of form.querySelectorAll('input[data-utc]')) enableClock(input)
    for (const select of form.querySelectorAll('select[data-notation]')) enableNotation(select)
    form.addEventListener('keydown', event => {
      if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      form.requestSubmit(form.querySelector('button.go'))
    })
  }
  // Other scripts put new inputs into a page.
  const suggest = input => { if (input?.matches('input[data-names]') && !input.list) enableNames(input) }
  document.addEventListener('focusin', event => suggest(event.target))
  // The user may have typed before the script was loaded.
  suggest(document.activeElement)
  for (const select of document.querySelectorAll('select[data-choose]')) {
    const button = select.form.querySelector('button[data-choose-go]')
    // Each arrow key causes a change event, but does not confirm the choice. The button does.
    let isKeyed = false
    select.addEventListener('keydown', () => { isKeyed = true })
    select.addEventListener('pointerdown', () => { isKeyed = false })
    select.addEventListener('change', () => { if (!isKeyed) select.form.requestSubmit(button) })
  }
}

// Keeps an input in UTC and an input in local time synchronized.
function enableClock(input) {
  const local = input.parentElement.querySelector('[data-local]')
  const clock = local?.querySelector('input')
  if (!clock) return
  const show = () => {
    const moment = utc(input.value)
    clock.value = moment ? inputText(moment) : ''
  }
  input.addEventListener('input', show)
  clock.addEventListener('input', () => {
    const moment = clock.value ? new Date(clock.value) : null
    if (moment && !Number.isNaN(moment.getTime())) input.value = moment.toISOString().replace('T', ' ').replace(/(\.000)?Z$/, '')
  })
  show()
  local.hidden = false
}

// Parses a time like the server does, if a time input can show it.
function utc(text) {
  const match = text.trim().match(/^(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3})\d*)?)?)?Z?$/)
  if (!match) return null
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(part => Number(part ?? 0))
  const moment = new Date(Date.UTC(year, month - 1, day, hour, minute, second, Number((match[7] ?? '0').padEnd(3, '0'))))
  return year >= 1000 && !Number.isNaN(moment.getTime()) ? moment : null
}

function inputText(moment) {
  const two = number => String(number).padStart(2, '0')
  const date = `${moment.getFullYear()}-${two(moment.getMonth() + 1)}-${two(moment.getDate())}`
  return `${date}T${two(moment.getHours())}:${two(moment.getMinutes())}:${two(moment.getSeconds())}.${String(moment.getMilliseconds()).padStart(3, '0')}`
}

// Suggests records with the typed text in their name or title.
function enableNames(input) {
  const list = document.createElement('datalist')
  list.id = `names-of-${input.name}`
  input.after(list)
  input.setAttribute('list', list.id)
  let waiting, asked
  // The suggestions are from the database of the loaded page. A server with many users has an input for the user.
  const places = [...input.form.querySelectorAll('[data-names-place]')]
  const isElsewhere = () => places.some(place =>
    place.selectedOptions ? !place.selectedOptions[0]?.defaultSelected : place.value !== place.defaultValue)
  const ask = async () => {
    if (isElsewhere() || asked === input.value) return
    const text = asked = input.value
    const zone = (input.closest('.entry') ?? input.form).querySelector('select[name^="zone-"], [data-names-zone]')?.value
    const url = new URL(input.dataset.names, location.href)
    if (zone) url.searchParams.set('zone', zone)
    url.searchParams.set('q', text)
    try {
      const answer = await fetch(url)
      if (!answer.ok) return
      const { names } = await answer.json()
      // Answers can come in another order than their questions.
      if (text !== input.value || isElsewhere()) return
      list.replaceChildren(...names.map(record => {
        const option = document.createElement('option')
        option.value = record.recordName
        option.textContent = record.title ? `${record.title} · ${record.recordType}` : record.recordType
        return option
      }))
    } catch {
      // Without the server, there are no suggestions.
    }
  }
  input.addEventListener('input', () => {
    clearTimeout(waiting)
    waiting = setTimeout(ask, 150)
  })
  input.addEventListener('focus', ask)
  ask()
  for (const place of places) {
    place.addEventListener('change', () => {
      asked = undefined
      list.replaceChildren()
    })
  }
}

// Converts bytes to the chosen notation, if they are valid.
function enableNotation(select) {
  const area = select.closest('.entry').querySelector('[data-bytes]')
  if (!area) return
  const shown = select.closest('.entry').querySelector('[data-shown]')
  let written = select.value
  area.addEventListener('input', () => { written = select.value })
  select.addEventListener('change', () => {
    const bytes = written === 'hex' ? bytesOfHex(area.value) : bytesOfBase64(area.value)
    // The server converts the remaining cases, based on the notation in which it rendered the bytes.
    if (!bytes) return
    written = select.value
    area.value = written === 'hex' ? bytes.map(byte => byte.toString(16).padStart(2, '0')).join('') : btoa(String.fromCharCode(...bytes))
    if (shown) shown.value = ''
  })
}

// The bytes become function arguments, whose number is limited, so longer text is not converted.
const rewritable = 1 << 15

function bytesOfHex(text) {
  const digits = text.replace(/\s/g, '').replace(/^0x/i, '')
  if (digits.length % 2 || /[^0-9a-f]/i.test(digits) || digits.length > 2 * rewritable) return null
  return (digits.match(/../g) ?? []).map(pair => parseInt(pair, 16))
}

function bytesOfBase64(text) {
  try {
    const bytes = [...atob(text.replace(/\s/g, '').replace(/-/g, '+').replace(/_/g, '/'))].map(letter => letter.charCodeAt(0))
    return bytes.length > rewritable ? null : bytes
  } catch {
    return null
  }
}
