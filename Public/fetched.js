// Files that were fetched lie in the origin's private file system, on disk, until the page is left: one folder for each page.
// A lock says that the page is still there; folders without one are left over and removed.

const prefix = 'fetched-'

export function canKeepFiles() {
  return Boolean(navigator.storage?.getDirectory && navigator.locks && globalThis.Worker && globalThis.FileSystemFileHandle)
}

// Removes what pages left that are gone.
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

// A folder for this page, made at first use and gone with it.
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

  // How many bytes there is room for.
  async room() {
    const { quota = Infinity, usage = 0 } = await navigator.storage.estimate()
    return quota - usage
  }

  async #make() {
    await new Promise(resolve => {
      // Held as long as the page lives.
      navigator.locks.request(this.name, () => new Promise(() => resolve()))
    })
    const root = await navigator.storage.getDirectory()
    return root.getDirectoryHandle(this.name, { create: true })
  }
}
