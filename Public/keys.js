// True if single-letter shortcuts are on. Users of speech input, or users who press keys by accident, can turn them off (WCAG 2.1.4).

let isOn = true
try { isOn = localStorage.getItem('keys') !== 'off' } catch { /* Without storage, shortcuts are on. */ }

export function keysAreOn() { return isOn }

export function turnKeys(on) {
  isOn = on
  try {
    if (on) localStorage.removeItem('keys')
    else localStorage.setItem('keys', 'off')
  } catch { /* Without storage, the choice applies only to this page. */ }
}
