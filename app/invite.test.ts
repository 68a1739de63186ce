// The link works when it is redeemed, and each wrong flag gets a sentence.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from '../scripts/folder-testing.ts'
import { Access, loadKey, type Session } from './access.ts'
import { hourMs, noon, plainRights } from './access-testing.ts'
import { invite } from './invite.ts'

const root = join(import.meta.dirname, '..')
const run = promisify(execFile)

const answers = (status: number | null) => () => Promise.resolve(status)

const say = (argv: readonly string[], dataFolder: string, status: number | null = 200) =>
  invite({ argv: [...argv, '--data-folder', dataFolder], env: {}, cwd: dataFolder }, noon, answers(status))

function linkIn(text: string): URL {
  return new URL(/https:\S+/.exec(text)?.[0] ?? 'no link')
}

async function sessionOf(text: string, dataFolder: string, now: number) {
  const key = await loadKey({ accessKeyFile: null, dataFolder }, root)
  const access = new Access({
    isOpen: false,
    key,
    rightsOf: plainRights,
    sessionMs: 24 * 365 * hourMs,
    now: () => now,
    clock: () => now,
  })
  return (await access.redeem(linkIn(text).searchParams.get('invitation') ?? '')).session
}

const allowed = ({ channels, may, expiresAt }: Session) => [channels, may, expiresAt]

const inFolder = async (t: TestContext, ...argv: readonly string[]) => {
  const folder = temporaryFolder(t)
  const text = await say(argv, folder)
  return { text, session: await sessionOf(text, folder, noon), link: linkIn(text) }
}

test('by default, a link allows writing to main for 24 hours', async (t) => {
  const { text, session, link } = await inFolder(t)
  assert.deepEqual(allowed(session), [['main'], 'write', noon + 24 * hourMs])
  assert.deepEqual([link.origin, link.pathname], ['https://localhost:8443', '/join'])
  assert.match(text, /may read and write the page main until .*22 November 2026/)
})

test('follows the flags, and says what the link allows', async (t) => {
  const flags = ['--channels', 'main,notes,main', '--may=read', '--hours', '1.5', '--port', '9443']
  const { text, session, link } = await inFolder(t, ...flags)
  assert.deepEqual(allowed(session), [['main', 'notes'], 'read', noon + 1.5 * hourMs])
  assert.equal(link.origin, 'https://localhost:9443')
  assert.match(text, /may read, and not write, the pages main and notes until/)
})

test('every page', async (t) => {
  const { text, session } = await inFolder(t, '--channels', 'all')
  assert.equal(session.channels, 'all')
  assert.match(text, /read and write every page until/)
})

test('the port is that of the HTTP version, the name the requested one', async (t) => {
  const rows = [
    [['--http', '1.1'], 'https://localhost:8444'],
    [['--host', '192.168.7.20'], 'https://192.168.7.20:8443'],
    [['--host', '::1'], 'https://[::1]:8443'],
    [['--host', '0.0.0.0', '--host-name', 'wind.example.org'], 'https://wind.example.org:8443'],
    [['--host-name', 'wind.example.org:443'], 'https://wind.example.org'],
    [['--host-name', '2001:db8::20'], 'https://[2001:db8::20]:8443'],
    [['--host-name', '[2001:db8::20]:99'], 'https://[2001:db8::20]:99'],
  ] as const
  for (const [flags, origin] of rows) assert.equal((await inFolder(t, ...flags)).link.origin, origin)
})

test('a wildcard address has no name: uses localhost, with a hint', async (t) => {
  const { text, link } = await inFolder(t, '--host', '::')
  assert.equal(link.origin, 'https://localhost:8443')
  assert.match(text, /--host-name/)
  assert.doesNotMatch((await inFolder(t, '--host', '::', '--host-name', 'box')).text, /--host-name/)
})

test('says where access is open', async (t) => {
  assert.match((await inFolder(t)).text, /access is open/)
  assert.match((await inFolder(t, '--host', '0.0.0.0', '--access', 'open')).text, /access is open/)
  assert.doesNotMatch((await inFolder(t, '--host', '0.0.0.0')).text, /access is open/)
  assert.doesNotMatch((await inFolder(t, '--access', 'invited')).text, /access is open/)
})

test('answers a wrong flag with its name, its value and what is allowed', async (t) => {
  const folder = temporaryFolder(t)
  const rows: readonly (readonly [string[], RegExp])[] = [
    [['--may', 'admin'], /^--may is "admin"; allowed are read, write\.$/],
    [['--may'], /^--may needs a value after it; allowed are read, write\.$/],
    [['--hours', '0'], /^--hours is "0"; allowed are numbers from 0.01 to 8760\.$/],
    [['--hours=soon'], /^--hours is "soon"; allowed/],
    [['--hours', '9000'], /^--hours is "9000"; allowed/],
    [['--channels', 'a b'], /^--channels is "a b"; allowed are up to 32 names of letters/],
    [['--channels', 'main,,x'], /^--channels is "main,,x"/],
    [['--channels', 'main,all'], /^--channels is "main,all"; .* or the word all alone\.$/],
    [['--channels', 'wind'], /^--channels is "wind"; .*wind is always readable/],
    [['--host-name', 'https://x/y'], /^--host-name is "https:\/\/x\/y"; allowed are names and addresses/],
    [['--chanels', 'x'], /^There is no flag --chanels; did you mean --channels\?$/],
    [['--prot', '1'], /^There is no flag --prot; did you mean --port\?$/],
    [['main'], /^"main" is not a flag; --help all lists them\.$/],
    [['--port', '0'], /^port is 0, .* give the server's actual port with --port\.$/],
    [['--http', '4'], /^http is "4" \(from --http\); allowed are/],
  ]
  for (const [argv, message] of rows) {
    // The wrong word comes last, so that nothing after it can be taken for its value.
    const all = { argv: ['--data-folder', folder, ...argv], env: {}, cwd: folder }
    await assert.rejects(invite(all, noon, answers(200)), { name: 'ConfigError', message }, argv.join(' '))
  }
})

test('the help names each flag in 100 columns', async () => {
  const text = await invite({ argv: ['--may', 'x', '--help'], env: {}, cwd: root }, noon, answers(200))
  for (const flag of ['--channels', '--may', '--hours', '--host-name', '--config'])
    assert.ok(text.includes(flag))
  assert.deepEqual(
    text.split('\n').filter((line) => line.length > 100),
    [],
  )
})

test('warns about a link that opens no server', async (t) => {
  const folder = temporaryFolder(t)
  assert.match(
    await say(['--http1-port', '9444'], folder, null),
    /No server answers at localhost:9444: give the same flags/,
  )
  assert.doesNotMatch(await say([], folder), /No server answers/)
  await assert.rejects(
    say([], folder, 401),
    /^Error: The server at https:\/\/localhost:8444 has another key: give the same flags/,
  )
})

test('as a command it prints a valid link, or fails with one sentence', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(root, 'app/invite.ts')
  const { stdout, stderr } = await run(process.execPath, [
    file,
    '--hours',
    '2',
    '--data-folder',
    folder,
    '--http1-port',
    '1',
  ])
  assert.equal(stderr, '')
  assert.deepEqual((await sessionOf(stdout, folder, Date.now())).channels, ['main'])
  await assert.rejects(run(process.execPath, [file, '--may', 'all']), {
    code: 1,
    stdout: '',
    stderr: 'No invitation was made. --may is "all"; allowed are read, write.\n',
  })
})
