// `print.long.browser.test.ts` in Firefox.

import { inFirefox } from './in-firefox.ts'

inFirefox(() => import('./print.long.browser.test.ts'))
