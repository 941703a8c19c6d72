// All pages work without scripts. These scripts only improve them.
import { enableBeside } from './beside.js'
import { enableFields } from './celledit.js'
import { enableCells } from './cells.js'
import { enableColumns } from './columns.js'
import './connect.js'
import { enableCopying } from './copy.js'
import { enableTestDevice } from './device.js'
import { enableDropping } from './dropping.js'
import { enableEditing } from './edit.js'
import { enableFeed } from './feed.js'
import { removeLeftovers } from './fetched.js'
import { enableFetching } from './fetching.js'
import { enableGrid } from './grid.js'
import { enableHandheld } from './handheld.js'
import { enableImporting } from './importing.js'
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
import { enableRequests } from './requests.js'
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
enableShortcuts()
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
enableGrid()
enableEditing()
enableDropping()
enableImporting()
enableRequests()
enableFeed()
enableLive()
enableTestDevice()
enableNarrowing()
enablePreviews()
enableUploads()
enableFormFiles()
// The page must have its own files before it removes those of closed pages.
enableFetching().finally(removeLeftovers)
enableCopying(document)

// Examples contain the origin of this page.
for (const origin of document.querySelectorAll('[data-origin]')) origin.textContent = location.origin
