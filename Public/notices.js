// A notice says once what the last action did. Without scripts a cookie remembers that it was shown.

export function enableNotices() {
  const notice = document.querySelector('.notice')
  if (!notice) return
  const kept = location.search.slice(1).split('&').filter(part => part !== '' && !part.startsWith('notice='))
  history.replaceState(history.state, '', location.pathname + (kept.length > 0 ? `?${kept.join('&')}` : '') + location.hash)
  document.cookie = 'skylight-notice=; Path=/; SameSite=Strict; Max-Age=0'
  const close = document.createElement('button')
  close.type = 'button'
  close.className = 'bare'
  close.textContent = '×'
  close.setAttribute('aria-label', 'Close this message')
  close.addEventListener('click', () => notice.remove())
  notice.append(close)
}
