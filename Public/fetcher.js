// A worker that downloads one file into the private file system, resumes interrupted
// downloads, and computes the checksum. Only one chunk is in memory at a time.
import { SHA256 } from './sha256.js'

// The interval between progress reports, in milliseconds.
const pause = 100

const abort = new AbortController()

addEventListener('message', ({ data }) => {
  if (data === 'stop') abort.abort()
  else fetchFile(data).then(postMessage)
})

async function fetchFile({ url, folder, name, size, checksum, received, digest }) {
  let access
  let hash = new SHA256(digest)
  let isOver = false
  // Without the digest of all received bytes, the next attempt computes it from the file.
  const end = (kind, more) => {
    const digest = hash.snapshot()
    return { end: kind, received, digest: digest.length === received ? digest : undefined, ...more }
  }
  // Restarts the download, because the received bytes do not match the response.
  const startOver = () => {
    received = 0
    hash = new SHA256()
    access.truncate(0)
  }
  try {
    const root = await navigator.storage.getDirectory()
    const file = await (await root.getDirectoryHandle(folder)).getFileHandle(name, { create: true })
    access = await opened(file)
    if (access.getSize() < received) startOver()
    access.truncate(received)
    // The page was reloaded after it had received these bytes, or nobody could read them before.
    if (!digest) addStored(access, received, hash)
    // Skips the download if the file is complete and only its check is missing.
    if (received < size || size === 0) {
      let answer = await ask(url, received, checksum)
      if (answer.status === 416 && received > 0) {
        isOver = true
        startOver()
        answer = await ask(url, 0, checksum)
      }
      if (answer.status === 200 && received > 0) {
        isOver = true
        startOver()
      } else if (answer.status === 206 ? !begins(answer, received, size) : answer.status !== 200) {
        return end('failed', { isExpired: answer.status === 404 || answer.status === 410, reason: await reason(answer) })
      }
      postMessage({ received, isOver })
      let reported = performance.now()
      for (const reader = answer.body.getReader(); ;) {
        const { value, done } = await reader.read()
        if (done) break
        if (received + value.length > size) {
          startOver()
          return end('failed', { reason: 'The server sent more bytes than the record says' })
        }
        if (access.write(value, { at: received }) < value.length) throw new DOMException('full', 'QuotaExceededError')
        hash.update(value)
        received += value.length
        if (performance.now() - reported < pause) continue
        reported = performance.now()
        postMessage({ received, isOver })
      }
    }
    if (received < size) return end('failed', { reason: 'The connection ended early' })
    access.flush()
    const snapshot = hash.snapshot()
    if (new SHA256(snapshot).digest() === checksum) return end('done')
    startOver()
    return end('failed', { reason: 'The bytes do not match the checksum' })
  } catch (error) {
    if (abort.signal.aborted) return end('stopped')
    if (error.name === 'QuotaExceededError') return end('failed', { reason: "The browser's storage is full" })
    return end('failed', { reason: error instanceof TypeError ? 'The connection was lost' : String(error.message ?? error) })
  } finally {
    // Remaining data is not needed.
    abort.abort()
    access?.close()
  }
}

// The worker of a page that is being reloaded keeps the file open for a moment.
async function opened(file) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await file.createSyncAccessHandle()
    } catch (error) {
      if (error.name !== 'NoModificationAllowedError' || tries === 30) throw error
      await new Promise(resolve => setTimeout(resolve, 100))
    }
  }
}

function addStored(access, count, hash) {
  const chunk = new Uint8Array(1 << 20)
  for (let at = 0; at < count;) {
    const read = access.read(chunk.subarray(0, Math.min(chunk.length, count - at)), { at })
    hash.update(chunk.subarray(0, read))
    at += read
  }
}

// Requests a range without compression, and only if the content is unchanged.
function ask(url, received, checksum) {
  const headers = received > 0 ? { Range: `bytes=${received}-`, 'If-Range': `"${checksum}"` } : {}
  return fetch(url, { headers, signal: abort.signal, cache: 'no-store' })
}

function begins(answer, received, size) {
  return answer.headers.get('Content-Range') === `bytes ${received}-${size - 1}/${size}`
}

async function reason(answer) {
  try {
    return (await answer.json()).reason ?? `The server answered ${answer.status}`
  } catch {
    return `The server answered ${answer.status}`
  }
}
