// `files.long.browser.test.ts` in Firefox.

import { inFirefox } from './in-firefox.ts'

inFirefox(() => import('./files.long.browser.test.ts'))
