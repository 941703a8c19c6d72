// What the first rendering needs: the stored theme, the room of what scripts add, and fewer rows. This is the only script that blocks rendering.
{
  let theme = null
  try { theme = localStorage.getItem('theme') } catch { /* Without storage, the system preference applies. */ }
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
}
// A page keeps room for the local time, if it is another one than UTC, and for the drawer, if it was open.
if (new Date().getTimezoneOffset() !== 0) document.documentElement.dataset.local = ''
try { if (localStorage.getItem('beside') === 'on') document.documentElement.dataset.drawer = '' } catch { /* Without storage, it is closed. */ }
// The list of notifications that this browser received keeps its room until a script fills it.
try {
  const room = sessionStorage.getItem(`received ${location.pathname} ${new URLSearchParams(location.search).get('user') ?? ''}`)
  if (room) {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(`:root { --received: ${Number(room)}px }`)
    document.adoptedStyleSheets.push(sheet)
    document.documentElement.dataset.received = ''
  }
} catch { /* Without storage, nothing is kept. */ }
// The browser lays out a table as a whole, so the first rows appear at once, and a few more with each frame.
{
  const sheet = new CSSStyleSheet()
  const show = count => sheet.replaceSync(`.cells > tbody > tr:nth-child(n + ${count + 1}) { display: none }`)
  let count = 30
  show(count)
  document.adoptedStyleSheets.push(sheet)
  const showMore = () => {
    count += 10
    if (document.querySelector(`.cells > tbody > tr:nth-child(${count + 1})`)) {
      show(count)
      requestAnimationFrame(showMore)
    } else {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter(other => other !== sheet)
    }
  }
  addEventListener('DOMContentLoaded', () => requestAnimationFrame(showMore))
}
