// The sign-in at iCloud: opens it in a window of its own, and takes the message in which that window tells the token.
const link = document.querySelector('[data-icloud-sign-in]')
let opened = null

// The page renews its region while it waits, so the link may be replaced.
if (link) {
  const id = link.dataset.icloudSignIn
  const address = new URL(link.href).origin
  // A sign-in may lead on to other pages of Apple's, and to those of a company, which must not bring a token of their own.
  const isSignIn = origin => origin === address || /^https:\/\/([a-z0-9-]+\.)*(apple|icloud)\.com(\.cn)?$/.test(origin)
  document.addEventListener('click', event => {
    const clicked = event.target.closest('[data-icloud-sign-in]')
    if (!clicked) return
    opened = window.open(clicked.href, '', 'width=525,height=640')
    // Without a window of its own, the sign-in takes this one, and comes back by the token's redirect.
    if (opened) event.preventDefault()
  })
  window.addEventListener('message', async event => {
    if (!opened || event.source !== opened || !isSignIn(event.origin) || typeof event.data !== 'object' || event.data === null) return
    const told = new URLSearchParams()
    for (const name of ['ckWebAuthToken', 'ckSession', 'errorMessage']) {
      if (typeof event.data[name] === 'string') told.set(name, event.data[name])
    }
    if (told.size === 0) return
    told.set('id', id)
    const secret = document.querySelector('meta[name=form-secret]')?.content
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded', ...(secret ? { 'X-Skylight-Form': secret } : {}) }
    opened.close()
    await fetch('/connect/answer', { method: 'POST', headers, body: told.toString() })
    location.reload()
  })
}

// The window that comes back by the token's redirect. The page that opened it goes on.
if (document.body.matches('.alone') && window.opener) window.close()
