// `shared-editor.browser.test.ts` in Firefox.

import { inFirefox } from './in-firefox.ts'

inFirefox(() => import('./shared-editor.browser.test.ts'))
