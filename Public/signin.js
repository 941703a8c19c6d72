// The end of a sign-in: sends the result to the opener window and closes this one. Only pages of the requesting origin can receive it.
import { enableCopying } from './copy.js'

const ending = document.querySelector('[data-origin-to-tell]')
if (ending && window.opener) {
  const { originToTell, message } = ending.dataset
  const token = 'token' in ending.dataset ? ending.textContent : undefined
  // CloudKit JS reads ckSession, or errorMessage if that is missing.
  const told = token === undefined ? { errorMessage: message } : { ckWebAuthToken: token, ckSession: token }
  window.opener.postMessage(told, originToTell)
  document.querySelector('[data-told]')?.removeAttribute('hidden')
  window.close()
}

enableCopying(document)
for (const origin of document.querySelectorAll('[data-origin]')) origin.textContent = location.origin
