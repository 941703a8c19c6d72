// All pages work without scripts. These scripts only improve them.
import { enableBeside } from './beside.js'
import { enableFields } from './celledit.js'
import { enableCells } from './cells.js'
import { enableColumns } from './columns.js'
import './connect.js'
import { enableCopying } from './copy.js'
import { enableDropping } from './dropping.js'
import { enableEditing } from './edit.js'
import { removeLeftovers } from './fetched.js'
import { enableFetching } from './fetching.js'
import { enableHandheld } from './handheld.js'
import { enableLive } from './live.js'
import { enableMenus } from './menus.js'
import { enableNarrowing } from './narrow.js'
import { enableNotices } from './notices.js'
import { enablePalette } from './palette.js'
import { enablePicking } from './picking.js'
import { rememberPlace } from './places.js'
import { enablePreviews } from './preview.js'
import { enableQuestion } from './question.js'
import { enableRecent } from './recent.js'
import { enableShortcuts } from './shortcuts.js'
import { enableThemes } from './themes.js'
import { enableTimeline } from './timeline.js'
import { enableTimes } from './times.js'
import { enableTokens } from './tokens.js'
import { enableFormFiles, enableUploads } from './upload.js'

// Marks what other scripts add, and what they have added.
import('./marked.js')

enableMenus()
enablePalette()
rememberPlace()
// Before the scripts of tables, whose letters are others after g.
const showShortcuts = enableShortcuts()
enableThemes()
enableQuestion()
enableRecent()
// The recent queries leave out an address with a notice, so they read it first.
enableNotices()
enablePicking()
enableTokens()
enableTimeline()
enableColumns()
enableCells()
enableFields(document)
enableBeside()
enableTimes(document)
enableHandheld()
enableEditing()
enableDropping()
enableLive()
enableNarrowing()
enablePreviews()
enableUploads()
enableFormFiles()
// The page must have its own files before it removes those of closed pages.
enableFetching().finally(removeLeftovers)
enableCopying(document)

// Examples contain the origin of this page.
for (const origin of document.querySelectorAll('[data-origin]')) origin.textContent = location.origin

// The scripts of single pages come with them.
const parts = {
  'section[data-device]': async () => (await import('./device.js')).enableTestDevice(),
  '[data-feed]': async () => (await import('./feed.js')).enableFeed(),
  '[data-saves]': async () => (await import('./grid.js')).enableGrid(),
  'form[data-import]': async () => (await import('./importing.js')).enableImporting(),
  '[data-requests]': async () => (await import('./requests.js')).enableRequests(),
}
await Promise.allSettled(Object.entries(parts).map(([part, enable]) => document.querySelector(part) && enable()))
// The button says that the page is ready.
showShortcuts?.()
