// Loads the code of what opens over the page.

import { LateCode } from '../late-code.ts'

export const overlaysCode = new LateCode(() => import('./overlays.ts'))
