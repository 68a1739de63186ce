// `shared-editor.long.browser.test.ts` in Firefox.

import { inFirefox } from './in-firefox.ts'

inFirefox(() => import('./shared-editor.long.browser.test.ts'))
