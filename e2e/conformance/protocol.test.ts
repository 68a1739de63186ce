// PROTOCOL.md cannot fall behind: its examples run as they stand.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import type { Config } from '../../server/config/config.ts'
import { admitDraft } from '../../server/hub/admission.ts'
import { startTestServer } from '../../server/testing.ts'
import type { DownFrame } from '../../server/wire/frames.ts'
import { blocksOf, blockWith, root } from './protocol-text.ts'
import { type Running, run } from './shell.ts'

/** So that an example that says nothing fails by its own name. */
const timeout = 15_000

const commands = {
  stream: blockWith('sh', '/api/stream?window=c1'),
  post: blockWith('sh', '"id":"c1-1"'),
  wscat: blockWith('sh', 'wscat'),
  streamingDown: blockWith('sh', "curl -Nk 'https://localhost:8443/api/streaming"),
  streamingUp: blockWith('sh', '-T -'),
  longPoll: blockWith('sh', '/api/long-poll'),
  poll: blockWith('sh', '/api/poll'),
  invitation: blockWith('sh', '/api/session'),
}

type Run = (command: string) => Running

/** A server of its own for the test, and the way to run commands beside it. All ends with the test. */
async function startBeside(t: TestContext, change: Partial<Config> = {}): Promise<Run> {
  const folder = await mkdtemp(join(tmpdir(), 'crosswind-protocol-'))
  const server = await startTestServer({ dataFolder: folder, ...change })
  const started: Running[] = []
  t.after(async () => {
    for (const command of started) await command.stop()
    await server.close()
    await rm(folder, { recursive: true, force: true })
  })
  await writeFile(join(folder, '.curlrc'), `max-time = ${timeout / 1000}\nsilent\nshow-error\n`)
  // npm looks for its registry before it runs anything; these run what it would.
  await writeFile(join(folder, 'npx'), '#!/bin/sh\nexec "$@"\n', { mode: 0o700 })
  const invite = `exec "${process.execPath}" "${join(root, 'server/invite.ts')}"`
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

function skipWithout(program: string): string | false {
  return spawnSync(program, ['--version']).error ? `there is no ${program} on this machine` : false
}

const noGroups = process.platform === 'win32' && 'a shell that goes on cannot be ended here'
const withCurl = { timeout, skip: noGroups || skipWithout('sh') || skipWithout('curl') }

describe('the examples', () => {
  test('none goes unrun', () => {
    assert.deepEqual(new Set(Object.values(commands)), new Set(blocksOf('sh')))
  })

  test('the draft is one', () => {
    const [draft = ''] = blocksOf('json')
    admitDraft(JSON.parse(draft))
  })

  test('SSE brings what is posted', withCurl, async (t) => {
    const run = await startBeside(t)
    const stream = run(commands.stream)
    await stream.printed(/^event: welcome\ndata: \{"window":"c1"/)
    assert.deepEqual(JSON.parse(await run(commands.post).ended()), { type: 'stored', id: 'c1-1', seq: 1 })
    await stream.printed(/^event: message\nid: \w+:1\ndata: \{"id":"c1-1".*From curl/m)
  })

  test('what is typed into wscat is acknowledged, and comes to both ends', withCurl, async (t) => {
    const run = await startBeside(t)
    const [socket, stream] = [run(commands.wscat), run(commands.stream)]
    await socket.printed(/^\{"type":"welcome","window":"c2"/)
    await stream.printed(/^event: welcome/)
    socket.type(blockWith('json', 'From wscat'))
    // It prints its prompt before what comes next.
    await socket.printed(/^(?:> )?\{"type":"message","message":\{"id":"c2-1".*From wscat/m)
    await socket.printed(/^\{"type":"stored","id":"c2-1","seq":1\}$/m)
    await stream.printed(/^data: \{"id":"c2-1"/m)
  })

  test('a line typed into the streamed body is acknowledged while it goes on', withCurl, async (t) => {
    const run = await startBeside(t)
    const down = run(commands.streamingDown)
    await down.printed(/^event: welcome\ndata: \{"window":"c3"/)
    const up = run(commands.streamingUp)
    up.type(blockWith('json', 'A line'))
    await down.printed(/^event: stored\ndata: \{"id":"c3-1","seq":1\}$/m)
    await down.printed(/^event: message\nid: \w+:1\ndata: \{"id":"c3-1"/m)
    assert.equal(up.output(), '')
    up.endInput()
    assert.deepEqual(JSON.parse(await up.ended()), { type: 'ended', lines: 1 })
  })

  test('long polls go on from cursor to cursor, and bring what is posted', withCurl, async (t) => {
    const run = await startBeside(t)
    const polls = run(commands.longPoll)
    await polls.printed(/^\{"cursor":"\w+:0","frames":\[\{"type":"welcome","window":"c4"/)
    await run(commands.post).ended()
    await polls.printed(/^\{"cursor":"\w+:1","frames":\[\{"type":"message","message":\{"id":"c1-1"/m)
    await polls.printed(/^\{"cursor":"\w+:1","frames":\[\]\}$/m)
    assert.equal(polls.output().split('From curl').length, 2)
  })

  test('a poll is answered with what is there', withCurl, async (t) => {
    const run = await startBeside(t)
    await run(commands.post).ended()
    const { cursor, frames } = JSON.parse(await run(commands.poll).ended())
    assert.match(cursor, /^\w+:1$/)
    assert.deepEqual(
      frames.map(({ type }: DownFrame) => type),
      ['welcome', 'message'],
    )
  })

  test('an invitation becomes a session that lets in', withCurl, async (t) => {
    const run = await startBeside(t, { access: 'invited' })
    assert.equal(JSON.parse(await run(commands.post).ended()).code, 'no-session')
    const guest = run(commands.invitation)
    await guest.printed(/\{"may":"write","channels":\["main"\],"expiresAt":\d+\}/)
    await guest.printed(/event: welcome\ndata: \{"window":"c6"/)
  })
})
