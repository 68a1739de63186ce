// Commands as a person would give them to a shell, under way beside a test.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'

/** A command of the document under way. */
export interface Running {
  /** Resolves when all that it printed has that in it; rejects with what it printed when it ends before. */
  readonly printed: (pattern: RegExp) => Promise<void>
  readonly type: (text: string) => void
  readonly endInput: () => void
  /** Resolves to what it printed; rejects when it failed. */
  readonly ended: () => Promise<string>
  readonly output: () => string
  readonly stop: () => Promise<void>
}

export function run(command: string, surroundings: { cwd: string; env: NodeJS.ProcessEnv }): Running {
  const child = spawn('sh', ['-c', command], { ...surroundings, detached: true })
  const news = new EventEmitter()
  let output = ''
  let complaints = ''
  let code: number | null | undefined
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
    news.emit('news')
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    complaints += text
  })
  // A command that ended does not read what is typed.
  child.stdin.on('error', () => undefined)
  child.once('close', (exitCode) => {
    code = exitCode
    news.emit('news')
  })
  const story = () => `${command}\nended with ${code} and printed:\n${output}\n${complaints}`

  return {
    async printed(pattern) {
      while (!pattern.test(output)) {
        if (code !== undefined) assert.fail(`${pattern} did not come. ${story()}`)
        await once(news, 'news')
      }
    },
    type: (text) => void child.stdin.write(text),
    endInput: () => void child.stdin.end(),
    async ended() {
      while (code === undefined) await once(news, 'news')
      assert.equal(code, 0, story())
      return output
    },
    output: () => output,
    async stop() {
      if (code !== undefined || child.pid === undefined) return
      // With what the shell started: it is a group of its own.
      process.kill(-child.pid, 'SIGKILL')
      while (code === undefined) await once(news, 'news')
    },
  }
}
