// A click on the timeline shows the changes at that position, like the link of the
// stretch. All stretches have the same width, except that the last may be narrower.

export function enableTimeline() {
  const figure = document.querySelector('[data-timeline]')
  const drawing = figure?.querySelector('svg')
  if (!drawing) return
  const stretchAt = event => {
    const { left, width } = drawing.getBoundingClientRect()
    const number = Math.floor((event.clientX - left) / width * 100 / drawing.dataset.width)
    return figure.querySelector(`[data-stretch="${number}"]`)
  }
  drawing.addEventListener('pointermove', event => drawing.classList.toggle('leads', stretchAt(event) !== null))
  drawing.addEventListener('click', event => stretchAt(event)?.click())
}
