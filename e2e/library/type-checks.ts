// Compiles an application's TypeScript with the packed packages, as strictly as the compiler can.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

export const resolutions = ['bundler', 'nodenext'] as const

/** An application that would not compile if what it imports had no types. */
const application = `
import { connect, connectOver, programsOver, RefusedError, sse, type ConnectOptions } from '@crosswind/client'
import { LinkClock } from '@crosswind/client/clock'
import { debug } from '@crosswind/client/debug'
import { keptDrafts } from '@crosswind/client/drafts'
import { sharedConnection } from '@crosswind/client/share'
import { Stores } from '@crosswind/client/stores'
import { hooksOf, useChannel, useConnection } from '@crosswind/react'
import {
  type Authorize,
  type Before,
  type ChannelType,
  type ClientListener,
  type Crosswind,
  createCrosswind,
  defineChannels,
  type MessageListener,
  Refusal,
  serverOptions,
} from '@crosswind/server'
import { postgres } from '@crosswind/postgres'
import { redis } from '@crosswind/redis'
import { copyLogFile } from '@crosswind/server/log-file'
import { createTestCrosswind } from '@crosswind/server/testing'
import { output, printAs } from '@crosswind/server/program'
import { checked, engineShape, keysOf, whole } from '@crosswind/server/settings'
import { list, object, text } from '@crosswind/server/shapes'
import { z } from 'zod'
import { createServer } from 'node:http'
import { createSecureServer } from 'node:http2'

const options: ConnectOptions = {
  clock: LinkClock,
  debug: debug('link'),
  drafts: keptDrafts({ user: 'ada' }),
  modes: ['sse/2'],
  share: sharedConnection({ user: 'ada' }),
}
const crosswind = connect(new URL('https://localhost/realtime'), options)
const room = crosswind.channel<{ readonly text: string }>('room.1', { from: 'start' })
room.on('message', ({ data, seq }) => console.log(data.text.length, seq.toFixed()))
crosswind.on('error', (error) => console.log(error instanceof RefusedError, error.code))
// @ts-expect-error: a room of texts.
await room.publish({ text: 1 })
// @ts-expect-error: modes are a list.
connectOver('https://localhost/realtime', { transports: [sse], modes: 'sse/2' })

const channels = defineChannels({
  'chat.*': {
    kind: 'json',
    validate: z.object({ text: z.string(), at: z.string().transform(Number) }),
    presence: z.object({ name: z.string() }),
  },
  'note.*': { kind: 'json', validate: z.object({ text: z.string() }), changes: true },
  rules: { kind: 'json', validate: z.object({ text: z.string() }), changes: 'server' },
  wind: { kind: 'json' },
})
const declared = connect<typeof channels>('https://localhost/realtime')
const chat = declared.channel('chat.1')
chat.on('message', ({ data }) => console.log(data.text.length, data.at.toFixed()))
await chat.publish({ text: 'hi', at: '1' })
// @ts-expect-error: the schema takes a text.
await chat.publish({ text: 'hi', at: 1 })
chat.presence.set({ name: 'Ann' })
for (const { name } of chat.presence.states.values()) console.log(name.length)
// @ts-expect-error: the schema wants a name.
chat.presence.set({ nam: 'Ann' })
// @ts-expect-error: no such channel.
declared.channel('chta.1')
const name: string = options.modes?.[0] ?? ''
declared.channel(\`chat.\${name}\`).on('message', ({ data }) => console.log(data.text.length))
declared.channel<'up' | 'down'>(name).on('message', ({ data }) => console.log(data === 'up'))
declared.channel<string>(name).on('message', ({ data }) => console.log(data.length))
declared.subscribe('chat.1', { onMessage: ({ data }) => console.log(data.text.length) })
crosswind.channel<string>(name).on('message', ({ data }) => console.log(data.length))
// @ts-expect-error: nothing says what it carries.
crosswind.channel('room.2').on('message', ({ data }) => console.log(data.length))
const note = declared.channel('note.1')
note.on('message', ({ data }) => console.log(data?.text.length))
// @ts-expect-error: it may be erased.
note.on('message', ({ data }) => console.log(data.text.length))
// @ts-expect-error: it may be erased, by the server.
declared.subscribe('rules', { onMessage: ({ data }) => console.log(data.text.length) })
const [written] = (await note.readBack()).messages.flatMap(({ data }) => data ?? [])
console.log(written?.text.length)
note.on('volatile', ({ data }) => console.log(data.text.length))
// @ts-expect-error: nothing is published by which a message would be erased.
await note.publish(undefined)
// @ts-expect-error: no such code.
note.on('error', ({ code }) => console.log(code === 'not-invited-ther'))
const behind: number | null = declared.state.behindMs
console.log(behind)
const stores = new Stores(() => declared)
const chatList = stores.channel('chat.1')
console.log(chatList.getSnapshot().messages[0]?.data.at.toFixed(), chatList.getSnapshot().pending[0]?.data.at.length)
// @ts-expect-error: the schema takes a text.
await chatList.sendVolatile({ text: 'hi', at: 1 })
const hooks = hooksOf<typeof channels>()
export const useChat = () => hooks.useChannel('chat.1').messages[0]?.data.text.length
export const useOwn = () => useChannel<{ readonly text: string }>('room.1').messages[0]?.data.text.length
// @ts-expect-error: no such code.
crosswind.on('error', ({ code }) => console.log(code === 'outbox-ful'))

declare module '@crosswind/server' {
  interface Bodies {
    guests: { readonly names: readonly string[] }
  }
}
const guests: ChannelType = {
  name: 'guests',
  kinds: {
    guests: {
      body: object({ names: list(20, text) }),
      fold: (messages) => ({ names: messages.flatMap(({ body }) => ('names' in body ? body.names : [])) }),
    },
  },
}
interface Said {
  readonly text: string
}
const before: Before<Said> = ({ data, user }) => {
  if (user === null) throw new Refusal('declined', 'Sign in to write.')
  return { data: { text: data.text.trim() } }
}
const authorize: Authorize = ({ token, request }) => {
  if (token === 'late') throw new Refusal('not-invited-there', 'Your subscription has ended.')
  return { user: token ?? request.url ?? '', read: ['room.*'], write: [] }
}
const server: Crosswind = await createCrosswind({
  path: '/realtime',
  channels: {
    'guests.*': guests,
    'room.*': { kind: 'json', keep: { hours: 1 }, before },
    'plain.*': { kind: 'json', async before({ id }) { console.log(id.length) } },
    // @ts-expect-error: it returns neither data nor nothing.
    'wrong.*': { kind: 'json', before: () => 7 },
    'doc.*': { kind: 'yjs' },
  },
  authorize,
})
const heard: MessageListener<Said> = ({ data, seq }) => console.log(data.text.length, seq.toFixed())
const moved: ClientListener = ({ movement, client }) => console.log(movement === 'left', client.since.toFixed())
server.on('room.*', heard)()
// @ts-expect-error: a room of texts.
server.on<Said>('room.*', ({ data }) => data.number)
server.watchClients('room.*', moved)()
const { error: denied } = useConnection()
if (denied?.code === 'other-user') console.log(denied.message)
// @ts-expect-error: no such code.
console.log(denied?.code === 'other-usr')
console.log((await server.clientsOn('room.1')).length)
server.attach(createServer())
for (const storage of [postgres({ connectionString: '' }), redis({ url: '' })])
  await createCrosswind({ path: '/realtime', channels, authorize, storage })
const { crosswind: tested, url, advance, use } = await createTestCrosswind({
  channels,
  application(made, now) {
    made.attach(createServer())
    return createServer((_request, response) => response.end(now().toFixed()))
  },
})
const testedChannels: Crosswind<typeof channels> = tested
await testedChannels.publish('wind', url)
advance(url.length)
use(connect(url, { platform: programsOver(fetch) })).channel('room.1')
server.attach(createSecureServer({ ...serverOptions(), cert: '', key: '' }))
for await (const { data, cursor } of server.read('room.1')) console.log(data, cursor.length)

const typed: Crosswind<typeof channels> = await createCrosswind({ path: '/realtime', channels, authorize: 'everyone' })
await typed.publish('chat.1', { text: 'hi', at: '1' })
// @ts-expect-error: the schema takes a text.
await typed.publish('chat.1', { text: 1, at: '1' })
// @ts-expect-error: the schema takes a text.
await typed.change('note.1', 1, { text: 1 })
for await (const { data } of typed.read('note.1')) console.log(data?.text.length)
// @ts-expect-error: it may be erased.
for await (const { data } of typed.read('note.1')) console.log(data.text.length)
for (const send of [typed.publish, typed.sendVolatile])
  // @ts-expect-error: no such channel.
  await send('chta.1', { text: 'hi', at: '1' })
// @ts-expect-error: no such channel.
await typed.readBack('chta.1')
// @ts-expect-error: no such channel.
await typed.erase('chta.1', 1)
for (const { name } of await typed.channels()) await typed.deleteChannel(name)
for await (const { data } of typed.read('chat.1')) console.log(data.at.toFixed())

printAs('json')
const lines = output.with({ 'pump-started': 'info' })
lines.say('pump-started', 'The pump runs.', { litres: 30 })
// @ts-expect-error: no such code.
lines.say('pump-stopped', 'The pump is stuck.')
const schema = z.strictObject({ port: whole(0, 65_535, 8443), limits: engineShape.limits })
const settings = checked(schema, keysOf(schema), {}, 'pump.json', '.')
console.log(settings.port.toFixed(), copyLogFile('log.db', 'copy.db').toFixed())
await createCrosswind({ path: '/realtime', channels: {}, authorize: 'everyone', limits: settings.limits })
// @ts-expect-error: the rule of a channel has no such kind.
await createCrosswind({ path: '/realtime', channels: { one: { kind: 'xml' } }, authorize: 'everyone' })
`

const editor = `
import { CrosswindProvider } from '@crosswind/client/yjs'
import { createCrosswind } from '@crosswind/server'
import * as Y from 'yjs'

const provider = new CrosswindProvider('https://localhost/realtime', 'doc.1', new Y.Doc())
provider.on('saved', (isSaved) => console.log(isSaved, provider.awareness.clientID.toFixed()))
const server = await createCrosswind({ path: '/realtime', channels: { 'doc.*': { kind: 'yjs' } }, authorize: 'everyone' })
console.log((await server.document('doc.1')).getText('text').toString())
// @ts-expect-error: a document is one of yjs.
;(await server.document('doc.1')).noSuchMethod()
`

/** Resolves to the compiler's errors in an application in this folder that imports every door. */
export async function checkTypes(
  app: string,
  resolution: (typeof resolutions)[number],
  hasYjs: boolean,
): Promise<string> {
  const doors = await Promise.all(
    ['client', 'react', 'server'].map((name) => doorsOf(app, `@crosswind/${name}`)),
  )
  const taken = doors.flat().filter((door) => hasYjs || !/\/(yjs|document-store|document)$/.test(door))
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    verbatimModuleSyntax: true,
    skipLibCheck: false,
    noEmit: true,
    target: 'es2022',
    lib: ['es2023', 'dom'],
    types: ['node'],
    module: resolution === 'bundler' ? 'esnext' : 'nodenext',
    moduleResolution: resolution,
  }
  const files = {
    'package.json': JSON.stringify({ type: 'module' }),
    'tsconfig.json': JSON.stringify({ compilerOptions, include: ['*.ts'] }),
    'doors.ts': taken.map((door, place) => `export * as door${place} from '${door}'\n`).join(''),
    'application.ts': application,
    ...(hasYjs && { 'editor.ts': editor }),
  }
  for (const [name, content] of Object.entries(files)) await writeFile(join(app, name), content)
  const compiler = join(import.meta.dirname, '../../node_modules/.bin/tsc')
  const child = spawn(compiler, ['-p', '.'], { cwd: app, stdio: ['ignore', 'pipe', 'inherit'] })
  const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  return code === 0 ? said : said || `The compiler ended with ${code}.`
}

async function doorsOf(app: string, name: string): Promise<string[]> {
  const { exports } = JSON.parse(await readFile(join(app, 'node_modules', name, 'package.json'), 'utf8'))
  return Object.keys(exports).map((door) => name + door.slice(1))
}
