// Ticked rows: their count, a box that ticks all, and ranges. The actions are normal forms, which the style sheet shows while a row is ticked.

export function enablePicking() {
  const bar = document.querySelector('[data-picking]')
  if (!bar) return
  const boxes = [...document.querySelectorAll('input[name="pick"]')].filter(box => box.form === bar)
  const head = boxes[0]?.closest('table').tHead?.rows[0].cells[0]
  if (!head) return
  const all = document.createElement('input')
  all.type = 'checkbox'
  all.setAttribute('aria-label', 'Select all records of this page')
  // After the name, because other scripts read the first node of a header.
  head.append(all)

  const show = () => {
    const count = boxes.filter(box => box.checked).length
    bar.querySelector('[data-picked-count]').textContent = count === 1 ? '1 record:' : `${count} records:`
    for (const button of bar.querySelectorAll('[data-two]')) button.disabled = count !== 2
    all.checked = count === boxes.length
    all.indeterminate = count > 0 && count < boxes.length
  }
  all.addEventListener('change', () => {
    for (const box of boxes) box.checked = all.checked
    show()
  })
  let last = -1
  for (const [index, box] of boxes.entries()) {
    box.addEventListener('click', event => {
      if (event.shiftKey && last >= 0) {
        const [from, to] = last < index ? [last, index] : [index, last]
        for (const other of boxes.slice(from, to + 1)) other.checked = box.checked
      }
      last = index
      show()
    })
    box.addEventListener('change', show)
  }
  // When the user navigates back, the browser restores the ticks.
  show()
}
