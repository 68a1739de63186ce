// `reopening.long.browser.test.ts` in Firefox.

import { inFirefox } from './in-firefox.ts'

inFirefox(() => import('./reopening.long.browser.test.ts'))
