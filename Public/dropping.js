// Dropping a text file on a text box inserts its text.

// The maximum size of a dropped file in characters. Keys and certificates are far smaller.
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
