// `share.long.browser.test.ts` in Firefox.

import { inFirefox } from './in-firefox.ts'

inFirefox(() => import('./share.long.browser.test.ts'))
