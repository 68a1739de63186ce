// The dialog that gives others a link to the document.

import { generate } from 'lean-qr'
import { useEffect, useRef, useState } from 'react'
import { browserTimers } from '../../client/transports.ts'
import { Segments } from '../page/Controls.tsx'
import { useAttempt } from '../page/hooks.ts'
import { timeOfDay } from '../page/wording.ts'
import { nameOf } from '../store.ts'
import { Dialog, type DialogProps } from './Dialog.tsx'
import { linkTo, type Rights } from './document-addresses.ts'
import { invite } from './document-requests.ts'

const rights: readonly (readonly [Rights, string])[] = [
  ['write', 'can write'],
  ['read', 'can read'],
]

const periods = [
  { hours: 1, words: 'an hour' },
  { hours: 24, words: 'a day' },
  { hours: 168, words: 'a week' },
  { hours: 720, words: '30 days' },
]

const reaches = [
  ['network', 'On this network'],
  ['here', 'On this computer'],
] as const

type Reach = (typeof reaches)[number][0]

export function ShareDialog({ store, start, onClose }: DialogProps) {
  const { channel, mayWrite, sessionEndsAt, networkOrigin } = start
  const title = nameOf(store.view(), channel)
  const isOpen = sessionEndsAt === null
  const [reach, setReach] = useState<Reach>(networkOrigin === null ? 'here' : 'network')
  const [may, setMay] = useState<Rights>(mayWrite ? 'write' : 'read')
  const [hours, setHours] = useState(24)
  const { link, expiresAt, failure } = useLink({
    origin: (reach === 'network' ? networkOrigin : null) ?? location.origin,
    channel,
    may,
    hours: isOpen || !mayWrite ? null : hours,
  })

  return (
    <Dialog title={`Share “${title}”`} onClose={onClose}>
      {networkOrigin !== null && (
        <Segments label="With" choices={reaches} chosen={reach} onChoose={setReach} />
      )}
      {mayWrite && (
        <div className="share-rights row">
          <Segments label="They" choices={rights} chosen={may} onChoose={setMay} />
          {!isOpen && <Period hours={hours} onChoose={setHours} />}
        </div>
      )}
      {failure !== null && <p role="alert">{failure}</p>}
      {link !== null && <CopyLink link={link} />}
      <p className="dialog-note">{noteFor({ isOpen, may, mayWrite, expiresAt })}</p>
      {link !== null &&
        (isThisComputer(link) ? <OnlyHere isShared={networkOrigin !== null} /> : <QrCode text={link} />)}
    </Dialog>
  )
}

interface LinkAsked {
  readonly origin: string
  readonly channel: string
  readonly may: Rights
  /** Null for the document's address, without an invitation. */
  readonly hours: number | null
}

/** `link` is null until the server has made it. */
function useLink({ origin, channel, may, hours }: LinkAsked) {
  const { failure, attempt } = useAttempt()
  const [made, setMade] = useState<{ path: string; expiresAt: number } | null>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: `attempt` is new at each rendering.
  useEffect(() => {
    let isWanted = true
    setMade(null)
    if (hours !== null)
      void attempt(async () => {
        const { link, expiresAt } = await invite(channel, may, hours)
        if (isWanted) setMade({ path: link, expiresAt })
      })
    return () => {
      isWanted = false
    }
  }, [channel, may, hours])
  if (hours === null) return { link: linkTo(origin, channel, may), expiresAt: null, failure }
  return { link: made && origin + made.path, expiresAt: made?.expiresAt ?? null, failure }
}

interface Noted {
  readonly isOpen: boolean
  readonly may: Rights
  readonly mayWrite: boolean
  readonly expiresAt: number | null
}

function noteFor({ isOpen, may, mayWrite, expiresAt }: Noted): string {
  if (!isOpen && !mayWrite) return 'Only people with an invitation can open it.'
  if (isOpen)
    return may === 'write'
      ? 'Anyone who reaches this server can read and write there.'
      : 'The window shows the document without a caret. Anyone who edits the address can write; a server with access: invited enforces it.'
  if (expiresAt === null) return ''
  const verb = may === 'write' ? 'read and write' : 'read'
  return `Until ${timeOfDay(expiresAt, browserTimers.now())} anyone who opens it can ${verb} this document.`
}

const isThisComputer = (link: string) => /^(localhost|127\.[\d.]+|\[::1\])$/.test(new URL(link).hostname)

/** `isShared`: other devices reach the server, by another link. */
function OnlyHere({ isShared }: { readonly isShared: boolean }) {
  return (
    <p className="share-here">
      This link works only on this computer.
      {!isShared && (
        <>
          {' '}
          To let other devices in, start the server with <code>npm start -- --invite</code>.
        </>
      )}
    </p>
  )
}

function Period({ hours, onChoose }: { readonly hours: number; readonly onChoose: (hours: number) => void }) {
  return (
    <label className="share-period row">
      for
      <select className="field" value={hours} onChange={(event) => onChoose(Number(event.target.value))}>
        {periods.map(({ hours, words }) => (
          <option key={hours} value={hours}>
            {words}
          </option>
        ))}
      </select>
    </label>
  )
}

function CopyLink({ link }: { readonly link: string }) {
  const [copied, setCopied] = useState<string | null>(null)
  const field = useRef<HTMLInputElement>(null)

  async function copy(): Promise<void> {
    field.current?.select()
    try {
      await navigator.clipboard.writeText(link)
      setCopied(link)
    } catch {
      // Without permission, the selected text can still be copied by keyboard.
    }
  }

  return (
    <div className="copy-field">
      <input
        ref={field}
        className="field"
        aria-label="Link"
        readOnly
        value={link}
        onFocus={(event) => event.currentTarget.select()}
      />
      <button type="button" className="button primary-button" onClick={copy}>
        {copied === link ? 'Copied' : 'Copy link'}
      </button>
      <output className="visually-hidden">{copied === link && 'The link is copied.'}</output>
    </div>
  )
}

/** Dark on white in any colour scheme: cameras read nothing else reliably. */
function QrCode({ text }: { readonly text: string }) {
  const code = generate(text)
  const squares = Array.from({ length: code.size }, (_row, y) =>
    Array.from({ length: code.size }, (_column, x) => (code.get(x, y) ? `M${x} ${y}h1v1h-1z` : '')),
  )
  const quiet = 4
  const side = code.size + 2 * quiet
  return (
    <figure className="share-code">
      <svg viewBox={`${-quiet} ${-quiet} ${side} ${side}`} aria-hidden="true">
        <path d={squares.flat().join('')} />
      </svg>
      <figcaption className="small">Scan it with a phone to open the link.</figcaption>
    </figure>
  )
}
