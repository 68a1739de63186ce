// Whether this system lets a crowd connect at all: said before, not after ten thousand handshakes.

import { connections, type Mode } from '../../server/wire/modes.ts'

/** Linux, net.ipv4.ip_local_port_range: 32768 to 60999. All connections here go to one address and port. */
const ephemeralPorts = 28_000
/** Files that a process holds besides its windows' connections. */
const spareFiles = 200

export interface CrowdSize {
  readonly mode: Mode
  readonly windows: number
  readonly perBrowser: number
}

/** Over HTTP/2 one for each browser, over HTTP/1.1 one for each window. */
export function connectionsFor({ mode, windows, perBrowser }: CrowdSize): number {
  return connections[mode.http].isShared ? Math.ceil(windows / perBrowser) : windows
}

/** Open files that a process here may have; unlimited where the system does not say. Node takes the hard limit by itself. */
export function openFilesAllowed(): number {
  const report = process.report.getReport() as {
    userLimits?: { open_files?: { soft: unknown; hard: unknown } }
  }
  const allowed = Number(report.userLimits?.open_files?.hard)
  return Number.isFinite(allowed) ? allowed : Number.POSITIVE_INFINITY
}

/** Throws one sentence that says what to do. */
export function requireSockets(size: CrowdSize, allowed = openFilesAllowed()): void {
  const connections = connectionsFor(size)
  const files = connections + spareFiles
  if (files > allowed) {
    throw new Error(
      `${size.windows} windows take ${files} open files in a process and this system allows ${allowed}: raise it first with \`ulimit -n ${files}\` (as root, or in /etc/security/limits.conf).`,
    )
  }
  if (connections > ephemeralPorts) {
    throw new Error(
      `${connections} connections are more than the ${ephemeralPorts} that one machine has to one address: take fewer windows, or more to a browser.`,
    )
  }
}
