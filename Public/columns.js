// The visibility and width of columns, stored for tables with the same caption.

const step = 24
const least = 48
const most = 900

const width = head => Math.round(head.getBoundingClientRect().width)

export function enableColumns() {
  const table = document.querySelector('.sheet .answer > table')
  const foot = document.querySelector('.sheet .foot')
  const heads = table ? [...table.tHead.rows[0].cells] : []
  if (!foot || heads.length < 4) return
  const columns = new Columns(heads, table.caption?.textContent.trim() ?? '')
  table.dataset.columns = ''
  columns.offer(foot)
}

class Columns {
  constructor(heads, caption) {
    this.heads = heads
    this.storageKey = `columns ${caption}`
    this.sheet = new CSSStyleSheet()
    document.adoptedStyleSheets.push(this.sheet)
    const kept = this.load()
    this.hidden = new Set(kept.hidden)
    // A request for certain columns shows them, whatever is remembered.
    const asked = [...new URLSearchParams(location.search)].filter(([name]) => /^(key|(filter|sort)\d+)$/.test(name))
    this.asked = new Set(asked.map(([, field]) => field))
    this.widths = new Map(Object.entries(kept.widths))
    // Reads all widths first: after every change, the browser would lay out the whole table for the next one.
    const widths = heads.map(width)
    heads.forEach((head, index) => head.append(this.grip(head, widths[index])))
    this.apply()
  }

  name(head) { return head.firstChild.textContent.trim() }

  hides(head) { return this.hidden.has(this.name(head)) && !this.asked.has(this.field(head)) }

  // The name in a query. System fields have others in a table.
  field(head) { return head.dataset.field ?? this.name(head) }

  // A menu of all columns except the first, which identifies the record.
  offer(foot) {
    const menu = document.createElement('details')
    menu.className = 'pick'
    const summary = document.createElement('summary')
    summary.textContent = 'Columns'
    const list = document.createElement('fieldset')
    list.className = 'menu'
    const legend = document.createElement('legend')
    legend.textContent = 'Columns that are shown'
    list.append(legend)
    for (const head of this.heads.slice(1)) {
      const label = document.createElement('label')
      const box = document.createElement('input')
      box.type = 'checkbox'
      box.checked = !this.hides(head)
      box.addEventListener('change', () => {
        if (box.checked) this.hidden.delete(this.name(head))
        else this.hidden.add(this.name(head))
        this.asked.delete(this.field(head))
        this.keep()
      })
      label.append(box, this.name(head))
      list.append(label)
    }
    menu.append(summary, list)
    const spacer = foot.querySelector('.spacer')
    if (spacer) spacer.before(menu)
    else foot.append(menu)
  }

  // The handle that resizes a column by dragging or with the arrow keys. A double click resets the width.
  grip(head, now) {
    const grip = document.createElement('span')
    grip.className = 'grip'
    grip.tabIndex = 0
    Object.assign(grip, { role: 'separator', ariaOrientation: 'vertical', ariaLabel: `Width of ${this.name(head)}`, ariaValueMin: least, ariaValueMax: most })
    const set = value => {
      this.widths.set(this.name(head), Math.min(Math.max(value, least), most))
      this.apply()
    }
    grip.ariaValueNow = now
    grip.addEventListener('pointerdown', event => {
      event.preventDefault()
      grip.setPointerCapture(event.pointerId)
      const from = event.clientX - width(head)
      const move = event => set(event.clientX - from)
      grip.addEventListener('pointermove', move)
      grip.addEventListener('lostpointercapture', () => {
        grip.removeEventListener('pointermove', move)
        this.keep()
      }, { once: true })
    })
    grip.addEventListener('keydown', event => {
      const by = { ArrowLeft: -step, ArrowRight: step }[event.key]
      if (!by) return
      event.preventDefault()
      set(width(head) + by)
      this.keep()
    })
    grip.addEventListener('dblclick', () => {
      this.widths.delete(this.name(head))
      this.keep()
    })
    return grip
  }

  apply() {
    const rules = this.heads.flatMap((head, index) => {
      const cells = `table[data-columns] > * > tr > :nth-child(${index + 1})`
      if (this.hides(head) && index > 0) return [`${cells} { display: none }`]
      const width = this.widths.get(this.name(head))
      const grip = head.querySelector('.grip')
      if (grip && width) grip.ariaValueNow = width
      return width ? [`${cells} { min-width: ${width}px; max-width: ${width}px }`] : []
    })
    this.sheet.replaceSync(rules.join('\n'))
  }

  keep() {
    this.apply()
    try {
      if (this.hidden.size + this.widths.size === 0) localStorage.removeItem(this.storageKey)
      else localStorage.setItem(this.storageKey, JSON.stringify({ hidden: [...this.hidden], widths: Object.fromEntries(this.widths) }))
    } catch { /* Without storage, the choice applies only to this page. */ }
  }

  // The stored data may be from another version, or invalid.
  load() {
    const nothing = { hidden: [], widths: {} }
    try {
      const kept = JSON.parse(localStorage.getItem(this.storageKey)) ?? nothing
      const widths = Object.entries(kept.widths ?? {}).filter(([, width]) => Number.isFinite(width) && width >= least && width <= most)
      return { hidden: Array.isArray(kept.hidden) ? kept.hidden : [], widths: Object.fromEntries(widths) }
    } catch {
      return nothing
    }
  }
}
