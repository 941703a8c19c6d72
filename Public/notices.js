// A notice says once what the last action did. Without scripts a cookie remembers that it was shown.

export function enableNotices() {
  const notice = document.querySelector('.notice')
  if (!notice) return
  const kept = location.search.slice(1).split('&').filter(part => part !== '' && !/^(notice|undo)=/.test(part))
  history.replaceState(history.state, '', location.pathname + (kept.length > 0 ? `?${kept.join('&')}` : '') + location.hash)
  enable(notice)
  // The keyboard goes on from what was done, unless the page begins elsewhere.
  if (document.activeElement !== document.body) return
  notice.tabIndex = -1
  notice.focus({ preventScroll: true })
}

// Shows the notice of another page in this one, after an action without a page load.
export function adoptNotice(page) {
  const notice = page.querySelector('.notice')
  if (!notice) return
  const adopted = document.importNode(notice, true)
  const back = adopted.querySelector('input[name=back]')
  if (back) back.value = location.pathname + location.search
  document.querySelector('.notice')?.remove()
  document.querySelector('main').prepend(adopted)
  enable(adopted)
}

function enable(notice) {
  document.cookie = 'skylight-notice=; Path=/; SameSite=Strict; Max-Age=0'
  const close = document.createElement('button')
  close.type = 'button'
  close.className = 'bare'
  close.textContent = '×'
  close.setAttribute('aria-label', 'Close this message')
  close.addEventListener('click', () => notice.remove())
  notice.append(close)
}
