// `doors.long.browser.test.ts` in Firefox.

import { inFirefox } from '../windows/in-firefox.ts'

inFirefox(() => import('./doors.long.browser.test.ts'))
