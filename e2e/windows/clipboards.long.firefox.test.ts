// Copies by Firefox, which takes no styles of the page along.

import { inFirefox } from './in-firefox.ts'

inFirefox(() => import('./clipboards.long.browser.test.ts'))
