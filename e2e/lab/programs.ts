// The files that the lab runs as programs: TypeScript in a clone, JavaScript in the package.

import { extname, join } from 'node:path'

const root = join(import.meta.dirname, '../..')
const ending = extname(import.meta.filename)

const program = (path: string) => join(root, path + ending)

/** What a user types before a program's flags; before a scenario's name for the lab. */
export function commandOf(name: 'lab' | 'doctor' | 'conformance' | 'report'): string {
  if (ending === '.ts') return `npm run ${name} --`
  return ['npx @crosswind/lab', ...(name === 'lab' ? [] : [name])].join(' ')
}

export const programs = {
  server: program('server/main'),
  backup: program('server/backup'),
  /** Imported by a server before its own program. */
  stageStamps: program('e2e/lab/stage-stamps'),
  adapter: program('e2e/peers/adapter-process'),
  relays: program('e2e/peers/relays'),
  pongServers: program('e2e/peers/pong-servers'),
  packetRelay: program('e2e/network/packet-relay'),
} as const

/** The lab's own adapter of that name. */
export const adapterFile = (name: string) => program(`e2e/peers/adapters/${name}`)
