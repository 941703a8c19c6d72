// Pasting a token selects the changes since that token.

export function enableTokens() {
  const token = document.querySelector('[data-token]')
  const since = document.querySelector('[data-since]')
  if (!token || !since) return
  token.addEventListener('input', () => { since.checked = token.value.trim() !== '' })
}
