// Whether single letters are commands: who speaks to the computer, or touches keys by accident, switches them off (WCAG 2.1.4).

let isOn = true
try { isOn = localStorage.getItem('keys') !== 'off' } catch { /* Storage is switched off: they are on. */ }

export function keysAreOn() { return isOn }

export function turnKeys(on) {
  isOn = on
  try {
    if (on) localStorage.removeItem('keys')
    else localStorage.setItem('keys', 'off')
  } catch { /* Storage is switched off: the choice holds for this page. */ }
}
