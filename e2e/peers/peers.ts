// Peers to measure beside Crosswind: names, labels, packages, and the mode to compare each with.

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import net from 'node:net'
import { join } from 'node:path'
import tls from 'node:tls'

interface Kind {
  readonly label: string
  /** The relay of relays.ts. */
  readonly relay: string
  /** The mode whose transport it uses; absent if it imitates the requested ones. */
  readonly mode?: string
  readonly transport: string
  /** Packages; the server's only if it is started here. */
  readonly server?: string
  readonly client?: string
  /** Path of its endpoint; only for remote servers. */
  readonly path?: string
  /** What it uses at an http address, if different. */
  readonly withoutTls?: { readonly mode: string; readonly transport: string }
  /** What TLS must negotiate (ALPN) for that mode. */
  readonly protocol?: string
  /** Environment variable with the token that it requires: a flag would be in the report. */
  readonly token?: string
}

const overSocket = { mode: 'websocket/1.1', transport: 'WebSocket' } as const
const upgraded = { mode: 'websocket/1.1', transport: 'WebSocket, after polling' } as const

const kinds = {
  bare: { label: 'bare', relay: 'bare', transport: 'that of each mode that it imitates' },
  ws: { label: 'ws', relay: 'bare', ...overSocket, server: 'ws' },
  'socket.io': {
    ...{ label: 'Socket.IO', relay: 'socket.io', ...upgraded },
    ...{ server: 'socket.io', client: 'socket.io-client' },
  },
  'engine.io': {
    ...{ label: 'Engine.IO', relay: 'engine.io', ...upgraded },
    ...{ server: 'engine.io', client: 'engine.io-client' },
  },
  socketcluster: {
    ...{ label: 'SocketCluster', relay: 'socketcluster', ...overSocket },
    ...{ server: 'socketcluster-server', client: 'socketcluster-client' },
  },
  centrifugo: {
    ...{ label: 'Centrifugo', relay: 'centrifugo', ...overSocket },
    ...{ client: 'centrifuge', path: '/connection/websocket' },
  },
  mercure: {
    ...{ label: 'Mercure', relay: 'mercure', mode: 'sse/2', transport: 'SSE + XHR, HTTP/2' },
    ...{ path: '/.well-known/mercure', token: 'MERCURE_JWT', protocol: 'h2' },
    // No browser speaks HTTP/2 without TLS.
    withoutTls: { mode: 'sse/1.1', transport: 'SSE + XHR, HTTP/1.1' },
  },
  hocuspocus: {
    ...{ label: 'Hocuspocus', relay: 'hocuspocus', ...overSocket },
    ...{ client: '@hocuspocus/provider', path: '/' },
  },
} as const satisfies Readonly<Record<string, Kind>>

type PeerName = keyof typeof kinds

export interface Peer {
  readonly name: PeerName
  /** Address of its endpoint; only for remote servers. */
  readonly address?: string
  /** Its deliberate fault; only for the bare relay. */
  readonly fault?: string
}

/** `5ms`: the relay delays every message by this; `faults`: see `faultOf`. */
const faultPattern = /^(?:\d+(?:\.\d+)?ms|faults)$/

export const addedMsOf = (fault: string): number => (fault.endsWith('ms') ? Number.parseFloat(fault) : 0)

/**
 * What `bare+faults` does to a message, by its number: of a hundred it loses one, repeats one, and
 * sends one after the next. Lab and relay both derive it from the id.
 */
export function faultOf(id: string): 'lost' | 'duplicated' | 'reordered' | null {
  const place = Number(id.split('-').at(-1)) % 100
  // Within a window's first turn, after its warm-up.
  return place === 30 ? 'lost' : place === 40 ? 'duplicated' : place === 50 ? 'reordered' : null
}

/** `bare`, `bare+5ms`. */
export const nameOfPeer = ({ name, fault }: Peer): string => (fault === undefined ? name : `${name}+${fault}`)

const names = Object.keys(kinds) as PeerName[]
const kindOf = (name: PeerName): Kind => kinds[name]
const local = names.filter((name) => kindOf(name).path === undefined)
const elsewhere = names.filter((name) => kindOf(name).path !== undefined)

/** For help and errors. */
export const peerWords = `${local.join(', ')}, bare+5ms, bare+faults, and by address ${elsewhere.map((name) => `${name}=URL`).join(', ')}`

/**
 * Each is like `ws`, or by address `mercure=https://host:3000`. Throws one sentence for any other
 * word.
 */
export function readPeers(words: readonly string[]): Peer[] {
  const peers = words.map(readPeer)
  const called = peers.map(nameOfPeer)
  const again = called.find((name, place) => called.indexOf(name) < place)
  if (again !== undefined) throw new Error(`--peers names ${again} twice: a run has one of each.`)
  return peers
}

function readPeer(word: string): Peer {
  const [withFault = '', ...rest] = word.split('=')
  const [named = '', fault] = withFault.split('+')
  if (fault !== undefined) {
    if (named === 'bare' && faultPattern.test(fault) && rest.length === 0) return { name: 'bare', fault }
    throw new Error(`--peers names "${word}": only bare has faults, such as bare+5ms and bare+faults.`)
  }
  const name = names.find((one) => one === named)
  if (name === undefined) throw new Error(`--peers names "${named}"; there are ${peerWords}.`)
  const given = rest.join('=')
  const { path } = kindOf(name)
  if (path === undefined && rest.length === 0) return { name }
  if (path === undefined)
    throw new Error(`--peers names "${word}": ${name} is started for the run; write only ${name}.`)
  const example = `${name}=https://host:port`
  if (given === '')
    throw new Error(`--peers names "${word}" without its address: write ${example}, where it runs.`)
  const url = URL.parse(given)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new Error(`--peers names "${word}": write its address as ${example}.`)
  if (url.protocol === 'http:' && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname))
    throw new Error(
      `--peers names "${word}": from an https page a browser opens http only on its own machine; write ${example}.`,
    )
  if (url.search || url.hash || url.username)
    throw new Error(`--peers names "${word}": leave out everything after the path, and names and passwords.`)
  return { name, address: url.pathname === '/' ? `${url.origin}${path}` : url.href }
}

/** The bare page has only EventSource with XHR, and a WebSocket over HTTP/1.1. */
const bareModes: ReadonlySet<string> = new Set(['sse/2', 'sse/1.1', 'websocket/1.1'])

/** The modes that it imitates: those of `modes` that it can, or the one whose transport it uses. */
export function imitatedModes({ name, address }: Peer, modes: readonly string[]): readonly string[] {
  const { mode } = kindAt(name, address)
  return mode === undefined ? modes.filter((one) => bareModes.has(one)) : [mode]
}

function kindAt(name: PeerName, address: string | undefined): Kind {
  const kind = kindOf(name)
  return address?.startsWith('http:') ? { ...kind, ...kind.withoutTls } : kind
}

/**
 * Whether it imitates the requested modes; unknown peers, from another version's run, count as
 * doing so.
 */
export function isBare(name: string): boolean {
  const known = names.find((one) => one === name)
  return known === undefined || kindOf(known).mode === undefined
}

/** `Socket.IO` of `socket.io`; an unknown name is its own label. */
export function peerLabel(name: string): string {
  return names.some((one) => one === name) ? kinds[name as PeerName].label : name
}

/** Its arguments for relays.ts. */
export const relayOf = ({ name, address = '', fault = '' }: Peer) => [kindOf(name).relay, address, fault]

export type PeerFacts = ReturnType<typeof describePeer>

/** For the report; for a remote server only its client's version is known. */
export function describePeer(peer: Peer) {
  const { name, address } = peer
  const { label, transport, server, client } = kindAt(name, address)
  return {
    ...{ name: nameOfPeer(peer), label: peer.fault === undefined ? label : nameOfPeer(peer) },
    transport: address?.startsWith('http:') ? `${transport}, without TLS` : transport,
    serverVersion: server === undefined ? null : versionOf(server),
    clientVersion: client === undefined ? null : versionOf(client),
    address: address ?? null,
  }
}

function versionOf(name: string): string {
  const file = join(import.meta.dirname, '../../node_modules', name, 'package.json')
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
  } catch (cause) {
    throw new Error(`--peers needs the package ${name}: npm install --no-save ${name}.`, { cause })
  }
}

const answerWithinMs = 5000

/**
 * Rejects with one sentence if a client's package is missing, or a remote server does not answer.
 */
export async function requirePeers(peers: readonly Peer[]): Promise<void> {
  for (const { name, address } of peers) {
    const { label, protocol, token } = kindOf(name)
    if (token !== undefined && !process.env[token])
      throw new Error(
        `--peers ${name} needs a token that may subscribe and publish, in the variable ${token}.`,
      )
    describePeer({ name })
    if (address === undefined) continue
    const spoken = await protocolAt(new URL(address)).catch((cause) => {
      throw new Error(`--peers ${name}=${address}: nothing answers there (${cause.code ?? cause.message}).`, {
        cause,
      })
    })
    if (protocol !== undefined && spoken !== null && spoken !== protocol)
      throw new Error(
        `--peers ${name}=${address}: the server there does not speak HTTP/2, over which ${label} is measured.`,
      )
  }
}

/**
 * Resolves to the protocol that TLS negotiates, `h2` if the server has it; false for none, null
 * without TLS.
 */
async function protocolAt({ protocol, hostname, port }: URL): Promise<string | false | null> {
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const signal = AbortSignal.timeout(answerWithinMs)
  if (protocol === 'http:') {
    const socket = net.connect({ host, port: Number(port || 80) })
    try {
      await once(socket, 'connect', { signal })
      return null
    } finally {
      socket.destroy()
    }
  }
  const socket = tls.connect({
    ...{ host, port: Number(port || 443), servername: net.isIP(host) ? '' : host },
    ...{ ALPNProtocols: ['h2', 'http/1.1'], rejectUnauthorized: false },
  })
  try {
    await once(socket, 'secureConnect', { signal })
    return socket.alpnProtocol ?? false
  } finally {
    socket.destroy()
  }
}
