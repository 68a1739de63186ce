// The code that reads files.

import { LateCode } from '../late-code.ts'

export const importCode = new LateCode(
  () => import('./import-file.ts'),
  'The code that reads files could not be loaded: the server did not answer. Choose the file again once the connection is back, or reload.',
)
