// Whether a server is open to everybody who reaches it, or asks for an invitation.

import { isIPv4 } from 'node:net'

export interface Openness {
  /** `auto`: open where only this machine reaches it. */
  readonly access: 'auto' | 'open' | 'invited'
  /** Where the server listens. */
  readonly host: string
}

export function isOpenTo({ access, host }: Openness): boolean {
  return { auto: isLoopback(host), open: true, invited: false }[access]
}

/** Whether only this machine reaches that address. An unusual spelling counts as one that others reach. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}
