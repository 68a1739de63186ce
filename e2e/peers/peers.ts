// `--peers`: the adapters of systems to measure beside Crosswind, their names and deliberate faults.

import { existsSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { basename, extname, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isLoopback } from '../../scripts/addresses.ts'
import { adapterFile } from '../lab/programs.ts'

/** The adapters that are part of the lab, with the names that reports use for them. */
const builtIn = {
  bare: 'bare',
  'bare-yjs': 'bare-yjs',
  ws: 'ws',
  'socket.io': 'Socket.IO',
  'engine.io': 'Engine.IO',
  socketcluster: 'SocketCluster',
} as const

const builtInNames = Object.keys(builtIn)

export interface Peer {
  readonly name: string
  /** Its adapter: see adapter.ts. */
  readonly file: string
  /** Address of a system that is already running. */
  readonly address?: string
  /** Its deliberate fault; only for the bare relay. */
  readonly fault?: string
}

/** `5ms`: the relay delays every message by this; `faults`: see `faultOf`. */
const faultPattern = /^(?:\d+(?:\.\d+)?ms|faults)$/

export const addedMsOf = (fault: string): number => (fault.endsWith('ms') ? Number.parseFloat(fault) : 0)

/**
 * The fault of `bare+faults` for a message, by its number: of a hundred it loses one, repeats one, and
 * sends one after the next. Lab and relay both derive it from the id.
 */
export function faultOf(id: string): 'lost' | 'duplicated' | 'reordered' | null {
  const place = Number(id.split('-').at(-1)) % 100
  // Within a window's first turn, after its warm-up.
  return place === 30 ? 'lost' : place === 40 ? 'duplicated' : place === 50 ? 'reordered' : null
}

/** `bare`, `bare+5ms`. */
export const nameOfPeer = ({ name, fault }: Pick<Peer, 'name' | 'fault'>): string =>
  fault === undefined ? name : `${name}+${fault}`

/** For help and errors. */
export const peerWords = `${builtInNames.join(', ')}, bare+5ms, bare+faults, an adapter's file, ./adapter.mjs, or a package's name; with =URL a system that is already running`

/** Throws one sentence for a word that names no adapter, or a peer for the second time. */
export function readPeers(words: readonly string[]): Peer[] {
  const peers = words.map(readPeer)
  const called = peers.map(nameOfPeer)
  const again = called.find((name, place) => called.indexOf(name) < place)
  if (again !== undefined) throw new Error(`--peers names ${again} twice: a run has one of each.`)
  return peers
}

function readPeer(word: string): Peer {
  const [spec = '', ...rest] = word.split('=')
  const adapter = isPath(spec) ? adapterAt(spec) : adapterNamed(spec, word)
  if (rest.length === 0) return adapter
  if (builtInNames.includes(adapter.name))
    throw new Error(`--peers names "${word}": ${spec} is started for the run; write only ${spec}.`)
  return { ...adapter, address: readAddress(rest.join('='), spec, word) }
}

const isPath = (spec: string) => isAbsolute(spec) || /^\.{1,2}[\\/]/.test(spec) || /\.[cm]?[jt]s$/.test(spec)

function adapterAt(spec: string): Peer {
  const file = resolve(spec)
  if (!existsSync(file)) throw new Error(`--peers names "${spec}": there is no file ${file}.`)
  const name = basename(file, extname(file))
  // Names are part of `NAME:MODE`, and of `bare+5ms`.
  if (!/^[\w.@-]+$/.test(name) || builtInNames.includes(name))
    throw new Error(
      `--peers names "${spec}": reports would call it "${name}"; give the file another name, of letters, digits, dots and hyphens, and not ${builtInNames.join(', ')}.`,
    )
  return { name, file }
}

function adapterNamed(spec: string, word: string): Peer {
  const [name = '', fault] = spec.split('+')
  if (fault !== undefined && !(name === 'bare' && faultPattern.test(fault)))
    throw new Error(`--peers names "${word}": only bare has faults, such as bare+5ms and bare+faults.`)
  if (builtInNames.includes(name)) {
    const file = adapterFile(name)
    return { name, file, ...(fault !== undefined && { fault }) }
  }
  try {
    return { name, file: entryOf(name) }
  } catch (cause) {
    throw new Error(`--peers names "${name}", and no such package is installed; there are ${peerWords}.`, {
      cause,
    })
  }
}

/** Resolves a package in the working folder, else in the lab's, which `npx` keeps elsewhere. */
function entryOf(name: string): string {
  const inFolder = pathToFileURL(join(process.cwd(), 'peers.js')).href
  // `import.meta.resolve` takes no parent, and `require.resolve` refuses a package that is only for `import`.
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const resolved = (parentURL: string) => next(specifier, { ...context, parentURL })
      try {
        return resolved(inFolder)
      } catch {
        return resolved(import.meta.url)
      }
    },
  })
  try {
    return fileURLToPath(import.meta.resolve(name))
  } finally {
    hooks.deregister()
  }
}

function readAddress(given: string, spec: string, word: string): string {
  const example = `${spec}=https://host:port`
  const url = URL.parse(given)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new Error(`--peers names "${word}": write its address as ${example}.`)
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    throw new Error(
      `--peers names "${word}": from an https page a browser opens http only on its own machine; write ${example}.`,
    )
  if (url.search || url.hash || url.username)
    throw new Error(`--peers names "${word}": leave out everything after the path, and names and passwords.`)
  return url.href
}

/** The bare page has only EventSource with XHR, and a WebSocket over HTTP/1.1. */
export const bareModes: readonly string[] = ['sse/2', 'sse/1.1', 'websocket/1.1']

/** Returns the requested modes that a system with several modes has; otherwise its own mode. */
export function imitatedModes(own: readonly string[], requested: readonly string[]): readonly string[] {
  return own.length === 1 ? own : requested.filter((mode) => own.includes(mode))
}

/** `bare`, `bare-yjs` and `bare+5ms`: they imitate the requested modes. */
export const isBare = (name: string): boolean => /^bare(?:$|-yjs$|\+)/.test(name)

/** `Socket.IO` of `socket.io`; an adapter of others is called by its name. */
export function peerLabel(name: string): string {
  return new Map<string, string>(Object.entries(builtIn)).get(name) ?? name
}

/** For the report. */
export interface PeerFacts {
  readonly name: string
  readonly label: string
  readonly transport: string
  readonly version: string | null
  readonly address: string | null
}
