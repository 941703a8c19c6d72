// A text file dropped on a text box becomes its text.

// Characters that a dropped file may have: keys and certificates are far shorter.
const limit = 65536

export function enableDropping() {
  for (const box of document.querySelectorAll('textarea[data-drop-text]')) {
    const isFile = event => event.dataTransfer?.types.includes('Files')
    box.addEventListener('dragover', event => {
      if (!isFile(event)) return
      event.preventDefault()
      box.classList.add('over')
    })
    for (const kind of ['dragleave', 'drop']) box.addEventListener(kind, () => box.classList.remove('over'))
    box.addEventListener('drop', async event => {
      const file = event.dataTransfer?.files[0]
      if (!file) return
      event.preventDefault()
      box.value = await file.slice(0, limit).text()
    })
  }
}
