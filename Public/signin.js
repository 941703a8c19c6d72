// The end of a sign-in: the page that opened this window is told, and the window closes. Only pages of the origin that asked can hear it.
import { enableCopying } from './copy.js'

const ending = document.querySelector('[data-origin-to-tell]')
if (ending && window.opener) {
  const { originToTell, message } = ending.dataset
  const token = 'token' in ending.dataset ? ending.textContent : undefined
  // CloudKit JS reads ckSession, and errorMessage where that is missing.
  const told = token === undefined ? { errorMessage: message } : { ckWebAuthToken: token, ckSession: token }
  window.opener.postMessage(told, originToTell)
  document.querySelector('[data-told]')?.removeAttribute('hidden')
  window.close()
}

enableCopying(document)
for (const origin of document.querySelectorAll('[data-origin]')) origin.textContent = location.origin
