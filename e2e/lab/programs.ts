// The files that the lab runs as programs: TypeScript in a clone, JavaScript in the package.

import { extname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const root = join(import.meta.dirname, '../..')
const ending = extname(import.meta.filename)

const program = (path: string) => join(root, path + ending)

/** The command that a user types before a program's flags; for the lab, before a scenario's name. */
export function commandOf(name: 'lab' | 'doctor' | 'conformance' | 'report'): string {
  if (ending === '.ts') return `npm run ${name} --`
  return ['npx @crosswind/lab', ...(name === 'lab' ? [] : [name])].join(' ')
}

/** Programs that the package has, too. */
export const ownPrograms = {
  /** Imported by a server before its own program. */
  stageStamps: program('e2e/lab/stage-stamps'),
  adapter: program('e2e/peers/adapter-process'),
  relays: program('e2e/peers/relays'),
  pongServers: program('e2e/peers/pong-servers'),
  packetRelay: program('e2e/network/packet-relay'),
} as const

/** A program of the repository. Throws in the package, which has none. */
function programOfClone(path: string): string {
  if (ending === '.ts') return program(path)
  throw new Error(
    `This starts a Crosswind server, and the package has none: run it in a clone of the repository. What measures a running server is ${commandOf('lab')} keystrokes --server URL; doctor and conformance test one.`,
  )
}

export const programs = {
  get server() {
    return programOfClone('app/main')
  },
  /** The adapter of the mirror editor, an application with a server of its own. */
  get mirror() {
    return programOfClone('e2e/peers/adapters/mirror')
  },
  get backup() {
    return programOfClone('app/backup')
  },
  ...ownPrograms,
}

/** The lab's own adapter of that name. */
export const adapterFile = (name: string) => program(`e2e/peers/adapters/${name}`)

/** Imported by a server before its own program; `asked`: the conditions of server-conditions.ts. */
export const serverConditions = (asked: string) =>
  `${pathToFileURL(program('e2e/lab/server-conditions')).href}?${asked}`
