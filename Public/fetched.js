// Stores downloaded files in the origin's private file system until the page is closed, in one
// folder per page. Each open page holds a lock. Folders without a lock are left over and removed.

const prefix = 'fetched-'

export function canKeepFiles() {
  return Boolean(navigator.storage?.getDirectory && navigator.locks && globalThis.Worker && globalThis.FileSystemFileHandle)
}

// Removes the folders of closed pages.
export async function removeLeftovers() {
  if (!canKeepFiles()) return
  try {
    const root = await navigator.storage.getDirectory()
    for await (const name of root.keys()) {
      if (!name.startsWith(prefix)) continue
      await navigator.locks.request(name, { ifAvailable: true }, async lock => {
        if (lock) await root.removeEntry(name, { recursive: true }).catch(() => {})
      })
    }
  } catch {}
}

// A folder for this page, created on first use and removed with the page.
export class FetchedFiles {
  name = prefix + crypto.randomUUID()
  #folder = null

  open() {
    this.#folder ??= this.#make()
    return this.#folder
  }

  async file(name) {
    const folder = await this.open()
    return (await folder.getFileHandle(name)).getFile()
  }

  // The available space, in bytes.
  async room() {
    const { quota = Infinity, usage = 0 } = await navigator.storage.estimate()
    return quota - usage
  }

  async #make() {
    await new Promise(resolve => {
      // Held as long as the page exists.
      navigator.locks.request(this.name, () => new Promise(() => resolve()))
    })
    const root = await navigator.storage.getDirectory()
    return root.getDirectoryHandle(this.name, { create: true })
  }
}
