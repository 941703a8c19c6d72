// Stores downloaded files in the origin's private file system until the page is closed, in one
// folder per address, so that a reloaded page goes on. Each open page holds a lock. Folders without a lock are left over and removed.

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

// A folder for this page, created on first use and removed after the page is closed.
export class FetchedFiles {
  #folder = null

  open() {
    this.#folder ??= this.#make()
    return this.#folder
  }

  // False where the browser has the interface and refuses, as Safari does in private windows.
  async canOpen() {
    try {
      await this.open()
      return true
    } catch {
      return false
    }
  }

  async file(name) {
    const folder = await this.open()
    return (await folder.getFileHandle(name)).getFile()
  }

  // The bytes that the page fetched before it was reloaded.
  async size(name) {
    try {
      return (await this.file(name)).size
    } catch {
      return 0
    }
  }

  // The available space, in bytes. Safari before 17 does not tell it.
  async room() {
    const { quota = Infinity, usage = 0 } = await navigator.storage.estimate?.() ?? {}
    return quota - usage
  }

  async #make() {
    let name = prefix + await addressDigest()
    // Another page with the same address has the folder.
    if (!await hold(name)) {
      name = prefix + crypto.randomUUID()
      await hold(name)
    }
    const root = await navigator.storage.getDirectory()
    return root.getDirectoryHandle(name, { create: true })
  }
}

async function addressDigest() {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(location.pathname + location.search))
  return [...new Uint8Array(digest)].map(byte => byte.toString(16).padStart(2, '0')).join('')
}

// Holds a lock as long as the page exists. A page that is being reloaded gives it back after a moment.
function hold(name) {
  return new Promise(resolve => {
    navigator.locks.request(name, { signal: AbortSignal.timeout(1000) }, () => new Promise(() => resolve(true))).catch(() => resolve(false))
  })
}
