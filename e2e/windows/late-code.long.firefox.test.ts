// `late-code.long.browser.test.ts` in Firefox.

import { inFirefox } from './in-firefox.ts'

inFirefox(() => import('./late-code.long.browser.test.ts'))
