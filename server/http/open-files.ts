// Limits connections to the open files that the system allows a process.

import { output } from '../output.ts'

/** Further connections: they get a 503, or the server's health. */
export const reserve = 64

/** A process needs these besides its connections: for the log, the broker, threads and files being sent. */
const ownFiles = 100

const fits = (openFiles: number) => Math.max(1, openFiles - ownFiles - reserve)

/**
 * Maximum number of connections of any kind. Beyond it, accepting may fail, and Node reports nothing
 * (libuv, `uv__emfile_trick`).
 */
export const maxSockets = (openFiles: number) => fits(openFiles) + reserve

/** Prints a warning if the system allows fewer than `wanted`. Returns how many fit. */
export function fittingConnections(wanted: number, openFiles: number): number {
  const fitting = Math.min(wanted, fits(openFiles))
  if (fitting < wanted)
    output.say(
      'connections-limited',
      `This system lets a process open ${openFiles} files, enough for ${fitting} connections: limits.maxConnections is ${wanted}. Raise the system’s limit to ${wanted + ownFiles + reserve} (ulimit -n, or LimitNOFILE of systemd), or lower that setting.`,
      { openFiles, connections: fitting },
    )
  return fitting
}
