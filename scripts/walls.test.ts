// Checks the walls of ARCHITECTURE.md: allowed imports, and that only one table branches on modes.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, posix, sep } from 'node:path'
import { test } from 'node:test'
import { transportNames, windowHttpVersions, windowModes } from '../protocol/modes.ts'

interface Source {
  /** Relative to the project's root, with slashes: `server/hub/hub.ts`. */
  readonly path: string
  readonly text: string
  /** Files relative to the project's root, packages by their bare names. */
  readonly imports: readonly string[]
}

const root = join(import.meta.dirname, '..')
const sources = globSync('{protocol,client,server,sensor,app,web,e2e,certs,scripts}/**/*.{ts,tsx,mjs}', {
  cwd: root,
})
  .filter((path) => !/node_modules|\bdist\b/.test(path))
  .map((path) => readSource(path.split(sep).join('/')))

function readSource(path: string): Source {
  const text = readFileSync(join(root, path), 'utf8')
  const named = text.matchAll(
    /^(?:import|export) (?:[^'"`()=;]*? from )?'([^'\n]+)'|\bimport\(\s*'([^'\n]+)'/gm,
  )
  return {
    path,
    text,
    imports: Array.from(named, ([, fixed, called]) => fromRoot(path, fixed ?? called ?? '')),
  }
}

function fromRoot(path: string, name: string): string {
  return name.startsWith('.') ? posix.join(posix.dirname(path), name) : name
}

function isTest(path: string): boolean {
  return /\.test\.(ts|mjs)$|-contract\.ts$/.test(path)
}

const forTests = ['node:test', 'node:assert/strict']

/** Lists each import in a folder that is not one of `may`, as `file imports file`. */
function foreignImports(folder: string, may: readonly string[]): string[] {
  return sources
    .filter(({ path }) => path.startsWith(folder))
    .flatMap(({ path, imports }) => {
      const allowed = isTest(path) ? [...may, ...forTests] : may
      const foreign = imports.filter((name) => !allowed.some((start) => name.startsWith(start)))
      return foreign.map((name) => `${path} imports ${name}`)
    })
}

/**
 * Lists each import of a path that starts with one of `names`, from files for which `isThere` is
 * true.
 */
function importsOf(names: readonly string[], isThere: (path: string) => boolean): string[] {
  return sources
    .filter(({ path }) => isThere(path))
    .flatMap(({ path, imports }) => {
      const found = imports.filter((name) => names.some((start) => name.startsWith(start)))
      return found.map((name) => `${path} imports ${name}`)
    })
}

test('there are sources to check', () => {
  for (const folder of ['protocol/', 'server/hub/', 'server/log/', 'client/', 'e2e/browser/']) {
    const imports = sources.filter(({ path }) => path.startsWith(folder)).flatMap((source) => source.imports)
    assert.ok(imports.length > 0, `no import was found in ${folder}`)
  }
})

test('the protocol imports nothing but itself', () => {
  assert.deepEqual(foreignImports('protocol/', ['protocol/']), [])
})

/** Modules that describe a sensor and its readings, for the page too. */
const sensorFacts = ['sensor/readings.ts', 'sensor/wind-units.ts']

test('modules shared by the page and its server import only the protocol and the facts of the sensor', () => {
  assert.deepEqual(foreignImports('app/shared/', ['app/shared/', 'protocol/', ...sensorFacts]), [])
  for (const path of sensorFacts) assert.deepEqual(foreignImports(path, sensorFacts), [])
})

test('pure modules use no clock, timer, randomness, browser or process of their own', () => {
  const impure =
    /\b(?:Math\.random|Date\.now|new Date|performance|set(?:Timeout|Interval|Immediate)|queueMicrotask|requestAnimationFrame|(?<!['-])document|globalThis|navigator|location|localStorage|crypto|fetch|process|Buffer)\b/
  const isShared = (path: string) => /^(protocol|app\/shared)\//.test(path) || sensorFacts.includes(path)
  const found = sources
    .filter(({ path }) => isShared(path) && !isTest(path))
    .flatMap(({ path, text }) => {
      const word = impure.exec(withoutComments(text))
      return word ? [`${path} says ${word[0]}`] : []
    })
  assert.deepEqual(found, [])
})

test('the sensor needs the clock, Node and its packages, and nothing else of this repository', () => {
  const may = ['sensor/', 'protocol/time.ts', 'scripts/process.ts', 'serialport', 'node:']
  const foreign = foreignImports('sensor/', may)
  const isForTests = /^\S*testing\.ts imports|^\S*\.test\.ts imports (protocol|scripts)\//
  assert.deepEqual(
    foreign.filter((found) => !isForTests.test(found)),
    [],
  )
})

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
}

test('the log imports the protocol and its storage, and nothing else', () => {
  const keeping = [
    'node:diagnostics_channel',
    'node:sqlite',
    'node:fs',
    'node:path',
    'node:os',
    'node:crypto',
    'node:zlib',
    'node:perf_hooks',
    'node:timers/promises',
    '@nats-io/jetstream',
    '@nats-io/obj',
    '@nats-io/transport-node',
    '@aws-sdk/client-sqs',
  ]
  const inTests = ['node:child_process', 'node:events', 'node:net', 'node:url', 'node:readline', 'scripts/']
  const may = ['server/log/', 'server/channels/channel-type.ts', 'server/runtime.ts', 'protocol/', ...keeping]
  const isForTests = (found: string) => /^\S*(\.test|-contract|-testing)\.ts /.test(found)
  const foreign = foreignImports('server/log/', may)
  assert.deepEqual(
    foreign.filter(
      (found) => !isForTests(found) || !inTests.some((name) => found.includes(` imports ${name}`)),
    ),
    [],
  )
})

/** Packages beside the server: each brings a store for its log. */
const stores = { 'server/postgres/': 'pg', 'server/redis/': '@redis/client' }

test('a package that brings a store imports its client and the door for it, and the server imports none', () => {
  const inTests = ['server/log/', 'scripts/', 'node:']
  for (const [folder, client] of Object.entries(stores)) {
    const may = [folder, 'server/storage.ts', 'scripts/suggestion.ts', client]
    const foreign = foreignImports(folder, may).filter(
      (found) =>
        !/^\S*(\.test|-testing)\.ts /.test(found) ||
        !inTests.some((name) => found.includes(` imports ${name}`)),
    )
    assert.deepEqual(foreign, [])
  }
  const isStore = (path: string) => Object.keys(stores).some((folder) => path.startsWith(folder))
  const isOther = (path: string) => /^(server|app)\//.test(path) && !isStore(path)
  assert.deepEqual(importsOf([...Object.keys(stores), ...Object.values(stores)], isOther), [])
})

test('access control imports neither the hub nor the transports', () => {
  const found = importsOf(['server/hub/', 'server/transports/'], (path) =>
    path.startsWith('server/security/'),
  )
  assert.deepEqual(found, [])
})

test('the hub imports the protocol, the log and the contract of channels, and no transport', () => {
  const may = ['server/hub/', 'protocol/', 'server/log/', 'server/channels/']
  assert.deepEqual(foreignImports('server/hub/', may), [])
})

test('the page imports what it shares with its server, the document’s model, and the facts of the sensor', () => {
  const isPage = (path: string) => path.startsWith('web/')
  const shared =
    /^(app\/shared\/|app\/document\/(file-kind|html|line-reader|markdown|rich-text|text-diff|wrong-files-testing)\.ts$)/
  const known = importsOf(['server/', 'app/', 'sensor/', 'e2e/', 'certs/', 'scripts/'], isPage).filter(
    (found) => {
      const [, name = ''] = found.split(' imports ')
      return !shared.test(name) && !sensorFacts.includes(name)
    },
  )
  assert.deepEqual(known, [])
})

test('the client imports the protocol, no package, and nothing of the page', () => {
  assert.deepEqual(
    foreignImports('client/', ['client/', 'protocol/']).filter(
      (found) =>
        !/^\S*(\.test|testing)\.ts imports node:/.test(found) &&
        !/^client\/(yjs\.ts|yjs\/[\w-]+\.ts|document-store\.ts) imports (yjs|y-protocols\/awareness)$/.test(
          found,
        ) &&
        !/^client\/react\/[\w-]+\.ts imports react$/.test(found),
    ),
    [],
  )
})

test('the hooks import the client’s doors, and nothing behind them', () => {
  const isHook = (path: string) => path.startsWith('client/react/')
  assert.deepEqual(behindDoors('client', importsOf(['client/'], isHook).filter(isNotOfHooks)), [])
  assert.deepEqual(
    importsOf(['client/react/'], (path) => path.startsWith('client/') && !isHook(path)),
    [],
  )
})

const isNotOfHooks = (found: string) => !found.includes(' imports client/react/')

/** Files that a package exports. */
function doorsOf(folder: string): readonly string[] {
  const manifest = readFileSync(join(root, folder, 'package.json'), 'utf8')
  return Array.from(manifest.matchAll(/"\.\/dist\/([\w-]+)\.js"/g), ([, name]) => `${folder}/${name}.ts`)
}

/** Imports of files of a package that it does not export. */
function behindDoors(folder: string, imports: readonly string[]): readonly string[] {
  const doors = doorsOf(folder)
  return imports.filter((found) => !doors.some((door) => found.endsWith(` imports ${door}`)))
}

test('page, tests and lab import only the client’s doors', () => {
  const found = importsOf(['client/'], (path) => /^(web|e2e)\//.test(path))
  assert.deepEqual(behindDoors('client', found.filter(isNotOfHooks)), [])
  assert.deepEqual(
    behindDoors(
      'client/react',
      found.filter((one) => !isNotOfHooks(one)),
    ),
    [],
  )
})

/** Files started by `lab-command` or by a scenario, and all files in `e2e/` that they import. */
function filesOfLab(): ReadonlySet<string> {
  const found = new Set<string>()
  const look = (path: string) => {
    if (!path.startsWith('e2e/') || found.has(path) || timesItsOwn.includes(path)) return
    found.add(path)
    for (const next of sources.find((source) => source.path === path)?.imports ?? []) look(next)
  }
  for (const path of [
    'e2e/lab-command.ts',
    'e2e/reproduce/reproduce.ts',
    'e2e/peers/adapter-process.ts',
    'e2e/peers/relays.ts',
    'e2e/peers/pong-servers.ts',
    'e2e/network/packet-relay.ts',
    'e2e/lab/stage-stamps.ts',
    'e2e/load/load-process.ts',
    ...globSync('e2e/peers/adapters/*.ts', { cwd: root }),
  ])
    look(path)
  return found
}

/** Benches of functions of the server, in the lab's own process. */
const timesItsOwn = ['e2e/bench/frames-bench.ts', 'e2e/bench/opening-bench.ts']

test('the lab imports nothing of the server, except in an application of the library', () => {
  const lab = filesOfLab()
  assert.ok(lab.size > 80, `the lab has ${lab.size} files`)
  assert.deepEqual(
    importsOf(['server/', 'app/', 'sensor/'], (path) => lab.has(path)),
    ['e2e/peers/adapters/mirror.ts imports server/index.ts'],
  )
})

test('the server imports the protocol, and nothing of its application, not even types', () => {
  assert.deepEqual(
    importsOf(['client/', 'app/', 'sensor/', 'web/', 'e2e/', 'certs/'], (path) =>
      path.startsWith('server/'),
    ).filter((found) => !isFromTest.test(found)),
    [],
  )
})

/** Tests of the library may have the page as their example. */
const isFromTest = /^\S*(\.test|-contract|testing)\.ts imports/

test('the page’s server imports the library’s doors, and nothing behind them', () => {
  const isApp = (path: string) => path.startsWith('app/')
  const found = importsOf(['server/', 'client/', 'web/', 'e2e/'], isApp).filter(
    (one) => !isFromTest.test(one),
  )
  assert.ok(found.includes('app/server.ts imports server/index.ts'))
  assert.deepEqual(behindDoors('server', found), [])
})

test('one module prints the server’s output; other programs print for themselves', () => {
  const programs =
    /^(server\/output|app\/(invite|backup|trust|sensor-command|config\/schema)|sensor\/command\/.*)\.ts$|-testing\.ts$/
  const prints = /\bconsole\.|process\.std(?:out|err)\.write\((?!configHelp\()/
  const found = sources
    .filter(({ path }) => /^(server|app|sensor)\//.test(path) && !isTest(path) && !programs.test(path))
    .flatMap(({ path, text }) => (prints.test(withoutComments(text)) ? [path] : []))
  assert.deepEqual(found, [])
})

test('only one folder drives browsers', () => {
  assert.deepEqual(
    importsOf(['selenium-webdriver', 'puppeteer'], (path) => !path.startsWith('e2e/browser/')),
    [],
  )
})

/** Files that may compare with a name of the table, and why. */
const comparing: Readonly<Record<string, string>> = {
  'protocol/modes.ts': 'it is the table',
  'server/http/websockets.ts': 'RFC 8441 names the protocol that a CONNECT asks for',
  'e2e/clients/http-client.ts': 'Node has a client of its own for each HTTP version',
  'e2e/lab/mode-names.ts': 'the papers’ baseline is WebSocket, unless the command names another',
}

test('only the table branches on the name of a mode, a transport or an HTTP version', () => {
  const names = [...windowModes.map(({ name }) => name), ...transportNames, ...windowHttpVersions]
  const literal = `['"](?:${names.map(RegExp.escape).join('|')})['"]`
  const decides = new RegExp(
    `[!=]==?\\s*${literal}|${literal}\\s*[!=]==?|\\bcase\\s+${literal}|\\b(?:startsWith|endsWith|includes)\\(${literal}`,
  )
  const found = sources
    .filter(({ path, text }) => !isTest(path) && decides.test(withoutComments(text)))
    .map(({ path }) => path)
  assert.deepEqual(found.toSorted(), Object.keys(comparing).toSorted())
})

test('the server runs without development packages', () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const isServer = ({ path }: Source) =>
    !Object.keys(stores).some((folder) => path.startsWith(folder)) &&
    /^(protocol|server|sensor|app|certs)\//.test(path) &&
    !/(\.test|-contract|testing)\.ts$/.test(path)
  const found = sources.filter(isServer).flatMap(({ path, text }) => {
    const imports = text.matchAll(/^import (?!type)(?:[^'"]*? from )?'([^']+)'|\bimport\('([^']+)'\)/gm)
    const packages = Array.from(imports, ([, fixed, dynamic]) => fixed ?? dynamic ?? '').filter(
      (name) => !/^(\.|node:)/.test(name),
    )
    const names = packages.map((name) => /^(@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name)
    return names.filter((name) => !(name in dependencies)).map((name) => `${path} imports ${name}`)
  })
  assert.deepEqual(found, [])
})

test('the container has every file that its server and its page import', () => {
  const recipe = readFileSync(join(root, 'scripts/Containerfile'), 'utf8')
  const copied = Array.from(recipe.matchAll(/^COPY (?!--)(.+) \S+$/gm), ([, all = '']) =>
    all.split(' '),
  ).flat()
  const isCopied = (path: string) =>
    copied.some((pattern) => posix.matchesGlob(path, pattern) || path.startsWith(`${pattern}/`))
  const imported = new Set(['app/main.ts', 'app/invite.ts', 'web/vite.config.ts', 'web/main.tsx'])
  const importsIn = new Map(sources.map(({ path, imports }) => [path, imports]))
  for (const path of imported) for (const next of importsIn.get(path) ?? []) imported.add(next)
  const files = [...imported].filter((path) => importsIn.has(path))
  assert.ok(files.length > 200, `${files.length} files`)
  assert.deepEqual(
    files.filter((path) => !isCopied(path)),
    [],
  )
})

test('no file imports itself, even indirectly, even for types', () => {
  const importsIn = new Map(sources.map(({ path, imports }) => [path, imports]))
  const done = new Set<string>()
  const look = (path: string, way: readonly string[]): void => {
    assert.ok(!way.includes(path), [...way, path].join(' imports '))
    if (done.has(path)) return
    for (const next of importsIn.get(path) ?? []) look(next, [...way, path])
    done.add(path)
  }
  for (const path of importsIn.keys()) look(path, [])
})
