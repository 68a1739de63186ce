// Joins declarations of types into one file.

import { rolldown } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'

/** The client's doors, from a package that imports them. */
const doors = {
  name: 'doors',
  resolveId(id) {
    const [, door] = /^\.\.\/(connect|stores|document-store)\.[jt]s$/.exec(id) ?? []
    return door ? { id: `@crosswind/client/${door}`.replace('/connect', ''), external: true } : null
  },
}

/** Lists a declaration file's exports and everything that they refer to, each once. */
export async function joinedTypes(entry) {
  const bundle = await rolldown({
    input: entry,
    external: /^[^./]/,
    treeshake: { moduleSideEffects: false },
    // Reads declarations only: the generator is not asked.
    plugins: [doors, dts({ dtsInput: true, emitDtsOnly: true, generator: 'oxc', tsconfig: false })],
  })
  const { output } = await bundle.generate()
  return output[0].code
}
