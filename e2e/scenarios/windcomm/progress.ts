// Says how far a WindComm run is: a line that moves on a terminal, one every few seconds elsewhere.

import type { ListeningWindow } from './window.ts'

interface Output {
  readonly isTTY?: boolean
  readonly write: (text: string) => unknown
}

export interface WindProgress {
  readonly say: (sentence: string) => void
  /** Tells of these windows from now on, until the returned function is called; that resolves when the last look is over. */
  readonly follow: (
    windows: readonly ListeningWindow[],
    readings: number,
    done: () => number,
  ) => () => Promise<void>
}

const clearLine = '\r\x1b[2K'
/** Seldom: a page has to be asked, and that takes time from what it receives. */
const everyMs = 5000

export function createWindProgress(output: Output): WindProgress {
  function say(sentence: string): void {
    if (output.isTTY) output.write(clearLine)
    output.write(`  ${sentence}\n`)
  }

  function follow(windows: readonly ListeningWindow[], readings: number, done: () => number) {
    let looking = Promise.resolve()
    const begun = Promise.all(windows.map((window) => window.count()))
    const tell = async () => {
      const sites = await leastBySite(windows, await begun)
      const line = `${String(done()).padStart(6)} of ${readings} readings  ${sites}`
      output.write(output.isTTY ? `${clearLine}  ${line}` : `  ${line}\n`)
    }
    const timer = setInterval(() => {
      looking = looking.then(tell).catch(() => undefined)
    }, everyMs)
    return async () => {
      clearInterval(timer)
      await looking
      if (output.isTTY) output.write(clearLine)
    }
  }

  return { say, follow }
}

/** `edmonton 118, lund 119`: what the window that is furthest behind has received since it was followed. */
async function leastBySite(windows: readonly ListeningWindow[], begun: readonly number[]): Promise<string> {
  const least = new Map<string, number>()
  for (const [place, window] of windows.entries()) {
    const received = (await window.count()) - (begun[place] ?? 0)
    least.set(window.site, Math.min(received, least.get(window.site) ?? received))
  }
  return [...least].map(([site, count]) => `${site} ${count}`).join(', ')
}
