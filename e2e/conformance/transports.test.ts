// What every transport promises, over real sockets: the suite, for each mode of the table, against a server of this project.

import { after, before, describe } from 'node:test'
import { startTestServer, type TestServer } from '../../server/testing.ts'
import { modes } from '../../server/wire/modes.ts'
import { testOwnPromises } from './own-promises.ts'
import { testPromises } from './promises.ts'

for (const mode of modes) {
  describe(mode.name, () => {
    let server: TestServer | null = null
    before(async () => {
      server = await startTestServer()
    })
    after(() => server?.close())

    testPromises(mode, () => {
      if (!server) throw new Error('The server has not started.')
      const { origin, ca } = server
      return { origin: origin[mode.http], ca, maxMessageBytes: 64 * 1024 }
    })
    testOwnPromises(mode)
  })
}
