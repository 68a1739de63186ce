// `unsent.long.browser.test.ts` in Firefox.

import { inFirefox } from './in-firefox.ts'

inFirefox(() => import('./unsent.long.browser.test.ts'))
