// PROTOCOL.md is current: its tables are complete and its examples run.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import type { Config } from '../../app/config/config.ts'
import { isKnown, type LineFormat, type Marks } from '../../app/document/rich-text.ts'
import { channelsOfPage } from '../../app/page-testing.ts'
import type { WindSnapshot } from '../../app/shared/wind-history.ts'
import type { WeekSnapshot } from '../../app/shared/wind-week.ts'
import { startTestServer } from '../../app/testing.ts'
import { byeCodes, type DownFrame } from '../../protocol/messages.ts'
import { windowModes } from '../../protocol/modes.ts'
import { statuses } from '../../protocol/refusal.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'

const root = join(import.meta.dirname, '../..')
const protocol = readFileSync(join(root, 'PROTOCOL.md'), 'utf8')

/** Contents of the fenced blocks in that language. */
function blocksOf(language: string): string[] {
  return Array.from(protocol.matchAll(/^```(\w+)\n(.*?)^```$/gms), ([, found, text = '']) =>
    found === language ? text : '',
  ).filter((text) => text !== '')
}

function blockWith(language: string, part: string): string {
  const [block, ...others] = blocksOf(language).filter((text) => text.includes(part))
  assert.ok(
    block !== undefined && others.length === 0,
    `PROTOCOL.md must have exactly one ${language} block with ${part}`,
  )
  return block
}

/** Table rows of that section, cells without backquotes. */
function rowsOf(heading: string): string[][] {
  const [, section = ''] = protocol.split(`\n## ${heading}\n`)
  const [text = ''] = section.split('\n## ')
  return Array.from(text.matchAll(/^\|(.+)\|$/gm), ([, row = '']) =>
    row.split('|').map((cell) => cell.replaceAll('`', '').trim()),
  )
}

const sources = globSync('{protocol,server,app}/**/*.ts', { cwd: root })
  .filter((path) => !/(\.test|testing|-contract)\.ts$/.test(path))
  .map((path) => readFileSync(join(root, path), 'utf8'))
  .join('\n')

const sorted = (texts: Iterable<string>) => [...new Set(texts)].sort()

/** First cells of that section's tables, without headings. */
function fieldsIn(heading: string): string[] {
  const listed = rowsOf(heading).flatMap(([names = '']) => names.split(' '))
  return sorted(listed.filter((name) => !/^(field|column|-+)$/.test(name)))
}

describe('the tables', () => {
  test('every refusal is in the table with its status, and no other', () => {
    const listed = rowsOf('Refusals').flatMap(([status = '', codes = '']) =>
      /^\d{3}$/.test(status) ? codes.split(' ').map((code) => `${status} ${code}`) : [],
    )
    const known = Object.entries(statuses).map(([code, status]) => `${status} ${code}`)
    assert.deepEqual(sorted(listed), sorted([...known, '501 wrong-method']))
    const unused = Object.keys(statuses).filter((code) => !new RegExp(`'${code}'(,|:\\s+\\D)`).test(sources))
    // Only an application's own code throws it.
    assert.deepEqual(unused, ['declined'])
  })

  test('every bye code is in the table with its closing code, and no other', () => {
    const rows = rowsOf('Frames').filter(([, close = '']) => /^\d{4}$/.test(close))
    assert.deepEqual(Object.fromEntries(rows.map(([code, close]) => [code, Number(close)])), byeCodes)
  })

  test('every mode is in the table with its fallback, and no other', () => {
    const rows = rowsOf('Connecting').filter(([names = '']) => names.includes('/'))
    const listed = rows.flatMap(([names = '', _down, _up, fallbacks = '']) =>
      names.split(' ').map((name, index) => [name, fallbacks.split('; ')[index]]),
    )
    const known = windowModes.map(({ name, fallback }) => [name, fallback ?? 'none'])
    assert.deepEqual(Object.fromEntries(listed), Object.fromEntries(known))
  })

  test('every frame is in the table', () => {
    const types: Record<DownFrame['type'], true> = {
      welcome: true,
      message: true,
      volatile: true,
      presence: true,
      awareness: true,
      omitted: true,
      heartbeat: true,
      stored: true,
      refused: true,
      bye: true,
      clock: true,
    }
    const listed = new Set(rowsOf('Frames').map(([type]) => type))
    assert.deepEqual(
      Object.keys(types).filter((type) => !listed.has(type)),
      [],
    )
  })

  test('every field of the wind’s history is in the table, and no other', () => {
    const fields: Record<keyof WindSnapshot | keyof WeekSnapshot | keyof WeekSnapshot['minutes'], true> = {
      seq: true,
      faultAt: true,
      seconds: true,
      full: true,
      after: true,
      count: true,
      speed: true,
      lowest: true,
      highest: true,
      direction: true,
      gaps: true,
      minutes: true,
      gust: true,
      isComplete: true,
    }
    assert.deepEqual(fieldsIn('The last hour and week of wind'), sorted(Object.keys(fields)))
  })

  test('every attribute of a shared document is in the table, and no other', () => {
    const examples: Required<Record<keyof Marks | keyof LineFormat, unknown>> = {
      bold: true,
      italic: true,
      underline: true,
      strike: true,
      code: true,
      script: 'sub',
      link: 'https://example.org/',
      image: { src: '', alt: 'a' },
      block: 'ul6',
      align: 'center',
      start: 7,
      language: 'c++',
    }
    assert.deepEqual(fieldsIn('The shared document'), sorted(Object.keys(examples)))
    for (const [name, value] of Object.entries(examples)) assert.ok(isKnown(name, value), name)
  })

  test('every path is named', () => {
    const paths = sorted(
      Array.from(sources.matchAll(/'(\/(?:api\/[a-z-]+|healthz|readyz|join))'/g), ([, path = '']) => path),
    )
    assert.ok(paths.length > 10)
    assert.deepEqual(
      paths.filter((path) => !new RegExp(`${path}(?![\\w/-])`).test(protocol)),
      [],
    )
  })
})

/** Makes a silent example fail under its own name. */
const timeout = 15_000

const commands = {
  proven: blockWith('sh', 'openssl'),
  stream: blockWith('sh', '/api/stream?window=c1'),
  post: blockWith('sh', '"id":"c1-1"'),
  replace: blockWith('sh', '-X PUT'),
  append: blockWith('sh', 'id=c7-2'),
  read: blockWith('sh', 'accept:'),
  wscat: blockWith('sh', 'wscat'),
  streamingDown: blockWith('sh', "curl -Nk 'https://localhost:8443/api/streaming"),
  streamingUp: blockWith('sh', '-T -'),
  longPoll: blockWith('sh', '/api/long-poll'),
  poll: blockWith('sh', '/api/poll'),
  invitation: blockWith('sh', '/api/session'),
}

/** A server and a function that runs commands against it; both end with the test. */
async function startBeside(
  t: TestContext,
  change: Partial<Config> = {},
): Promise<(command: string) => Running> {
  const folder = temporaryFolder(t)
  const server = await startTestServer({ dataFolder: folder, ...change })
  const started: Running[] = []
  t.after(async () => {
    for (const command of started) await command.stop()
    await server.close()
  })
  await mkdir(join(folder, 'certs'), { recursive: true })
  await writeFile(join(folder, 'certs/authority.pem'), server.ca)
  await writeFile(join(folder, '.curlrc'), `max-time = ${timeout / 1000}\nsilent\nshow-error\n`)
  // npm would query its registry first; these run the same commands directly.
  await writeFile(join(folder, 'npx'), '#!/bin/sh\nexec "$@"\n', { mode: 0o700 })
  const invite = `exec "${process.execPath}" "${join(root, 'app/invite.ts')}"`
  await writeFile(join(folder, 'npm'), `#!/bin/sh\n${invite}\n`, { mode: 0o700 })
  const env = {
    ...process.env,
    PATH: [folder, join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter),
    CURL_HOME: folder,
    TMPDIR: folder,
    no_proxy: '*',
    CROSSWIND_DATA_FOLDER: folder,
    CROSSWIND_PORT: String(server.ports['2']),
  }
  return (command) => {
    const here = command
      .replaceAll('localhost:8443', `localhost:${server.ports['2']}`)
      .replaceAll('localhost:8444', `localhost:${server.ports['1.1']}`)
    const running = run(here, { cwd: folder, env })
    started.push(running)
    return running
  }
}

/** A running command from the document. */
interface Running {
  /** Rejects with the output if the command ends first. */
  readonly printed: (pattern: RegExp) => Promise<void>
  readonly type: (text: string) => void
  readonly endInput: () => void
  /** Resolves to the output; rejects if the command fails. */
  readonly ended: () => Promise<string>
  readonly output: () => string
  readonly stop: () => Promise<void>
}

function run(command: string, surroundings: { cwd: string; env: NodeJS.ProcessEnv }): Running {
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
  // A command that has ended does not read its input.
  child.stdin.on('error', () => undefined)
  child.once('close', (exitCode) => {
    code = exitCode
    news.emit('news')
  })
  const story = () => `${command}\nended with ${code} and printed:\n${output}\n${complaints}`

  return {
    async printed(pattern) {
      while (!pattern.test(output)) {
        if (code !== undefined) assert.fail(`${pattern} did not appear. ${story()}`)
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
      // Kills the process group, with everything that the shell started.
      process.kill(-child.pid, 'SIGKILL')
      while (code === undefined) await once(news, 'news')
    },
  }
}

const python = spawnSync('python3', ['-c', 'import ssl'])
const withPython = {
  timeout,
  skip:
    python.status === 0
      ? false
      : 'there is no python3 with TLS on this machine: install it to run the client',
}

function skipWithout(program: string, asked = '--version'): string | false {
  return spawnSync(program, [asked]).error ? `there is no ${program} on this machine` : false
}

const noGroups = process.platform === 'win32' && 'a shell that keeps running cannot be ended here'
const withOpenssl = { timeout, skip: noGroups || skipWithout('curl') || skipWithout('openssl', 'version') }
const withCurl = { timeout, skip: noGroups || skipWithout('sh') || skipWithout('curl') }

describe('the examples', () => {
  test('every example is run', () => {
    assert.deepEqual(new Set(Object.values(commands)), new Set(blocksOf('sh')))
  })

  test('the draft is valid', () => {
    const [draft = ''] = blocksOf('json')
    channelsOfPage.draft(JSON.parse(draft))
  })

  test('SSE delivers a posted message', withCurl, async (t) => {
    const run = await startBeside(t)
    const stream = run(commands.stream)
    await stream.printed(/^event: welcome\ndata: \{"window":"c1"/)
    assert.deepEqual(JSON.parse(await run(commands.post).ended()), { type: 'stored', id: 'c1-1', seq: 1 })
    await stream.printed(/^event: message\nid: \w+:1\ndata: \{"id":"c1-1".*From curl/m)
  })

  test('a text is replaced, appended to and read', withCurl, async (t) => {
    const run = await startBeside(t)
    assert.deepEqual(JSON.parse(await run(commands.replace).ended()), { type: 'stored', id: 'c7-1', seq: 1 })
    for (const _again of [1, 2])
      assert.deepEqual(JSON.parse(await run(commands.append).ended()), { type: 'stored', id: 'c7-2', seq: 2 })
    assert.equal(
      await run(commands.read).ended(),
      'The wind turns north-west.\n\nFive metres a second.\n\n**Gusts** of nine.\n',
    )
  })

  test('a key generated in the shell proves the name derived from it', withOpenssl, async (t) => {
    const run = await startBeside(t)
    const stream = run(commands.stream)
    await stream.printed(/^event: welcome/)
    const { type, id, seq } = JSON.parse(await run(commands.proven).ended())
    assert.deepEqual([type, seq], ['stored', 1])
    assert.match(id, /^[A-Za-z0-9_-]{22}-1$/)
    const unproven = commands.proven.replace('&key=$KEY', '')
    assert.equal(JSON.parse(await run(unproven).ended()).code, 'not-your-name')
  })

  test('a frame typed into wscat is acknowledged and delivered to both clients', withCurl, async (t) => {
    const run = await startBeside(t)
    const socket = run(commands.wscat)
    const stream = run(commands.stream)
    await socket.printed(/^\{"type":"welcome","window":"c2"/)
    await stream.printed(/^event: welcome/)
    socket.type(blockWith('json', 'From wscat'))
    // wscat prints its prompt first.
    await socket.printed(/^(?:> )?\{"type":"message","message":\{"id":"c2-1".*From wscat/m)
    await socket.printed(/^\{"type":"stored","id":"c2-1","seq":1\}$/m)
    await stream.printed(/^data: \{"id":"c2-1"/m)
  })

  test('a line of a streamed body is acknowledged before the body ends', withCurl, async (t) => {
    const run = await startBeside(t)
    const down = run(commands.streamingDown)
    await down.printed(/^event: welcome\ndata: \{"window":"[A-Za-z0-9_-]{22}\.c3"/)
    const up = run(commands.streamingUp)
    up.type(blockWith('json', 'A line'))
    await down.printed(/^event: stored\ndata: \{"id":"c3-1","seq":1\}$/m)
    await down.printed(/^event: message\nid: \w+:1\ndata: \{"id":"c3-1"/m)
    assert.equal(up.output(), '')
    up.endInput()
    assert.deepEqual(JSON.parse(await up.ended()), { type: 'ended', lines: 1 })
  })

  test('long polls resume from cursor to cursor and deliver a posted message', withCurl, async (t) => {
    const run = await startBeside(t)
    const polls = run(commands.longPoll)
    await polls.printed(/^\{"cursor":"\w+:0","frames":\[\{"type":"welcome","window":"c4"/)
    await run(commands.post).ended()
    await polls.printed(/^\{"cursor":"\w+:1","frames":\[\{"type":"message","message":\{"id":"c1-1"/m)
    await polls.printed(/^\{"cursor":"\w+:1","frames":\[\]\}$/m)
    assert.equal(polls.output().split('From curl').length, 2)
  })

  test('a poll is answered with the messages so far', withCurl, async (t) => {
    const run = await startBeside(t)
    await run(commands.post).ended()
    const { cursor, frames } = JSON.parse(await run(commands.poll).ended())
    assert.match(cursor, /^\w+:1$/)
    assert.deepEqual(
      frames.map(({ type }: DownFrame) => type),
      ['welcome', 'message', 'heartbeat'],
    )
  })

  test('an invitation opens a session', withCurl, async (t) => {
    const run = await startBeside(t, { access: 'invited' })
    assert.equal(JSON.parse(await run(commands.post).ended()).code, 'no-session')
    const guest = run(commands.invitation)
    await guest.printed(/\{"may":"write","channels":\["main"\],"expiresAt":\d+\}/)
    await guest.printed(/event: welcome\ndata: \{"window":"c6"/)
  })

  test('the client of docs/programs.md appends a line, and follows the page', withPython, async (t) => {
    const run = await startBeside(t)
    const page = readFileSync(join(root, 'docs/programs.md'), 'utf8')
    const [, program = ''] = /^```python\n(.*?)^```$/ms.exec(page) ?? []
    assert.ok(program.split('\n').filter((line) => line !== '').length <= 40)
    const client = run(`cat > page.py <<'END'\n${program}END\nexec python3 page.py 'A line from Python'`)
    await client.printed(/^A line from Python$/m)
    await run(commands.append).ended()
    await client.printed(/^A line from Python\nGusts of nine\.$/m)
    await run(commands.replace).ended()
    await client.printed(/^The wind turns north-west\.\nFive metres a second\.$/m)
  })
})
