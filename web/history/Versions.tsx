// The time slider: any version that the log still has, coloured by author, and a way to restore it.

import { createElement, type ReactNode, useEffect, useMemo, useState } from 'react'
import {
  type InlineNode,
  inlineNodes,
  type Line,
  type ListPart,
  partsOf,
} from '../../server/document/rich-text.ts'
import type { PageStart } from '../../server/wire/messages.ts'
import { askHistory } from '../documents/document-requests.ts'
import { colourFor, guestName } from '../editor/presence.ts'
import type { CommonProps } from '../page/hooks.ts'
import { type Author, Replay, type Version } from './replay.ts'

interface VersionsProps extends Pick<CommonProps, 'actions'> {
  readonly start: PageStart
}

/** Between two portions: the server allows a window ten a second. */
const askPauseMs = 110

/** Playing shows the whole history in about 20 s. */
const playStepMs = 100
const playSteps = 200

export function Versions({ actions, start }: VersionsProps) {
  const { replay, isLoading, failure } = useHistory(start.channel)
  const [chosen, setChosen] = useState<number | null>(null)
  const [isPlaying, setPlaying] = useState(false)
  const newest = replay.newest
  const version = Math.min(chosen ?? newest, newest)
  const shown = useMemo(() => (isLoading ? null : replay.show(version)), [replay, isLoading, version])

  useEffect(() => {
    if (!isPlaying) return
    const step = Math.max(1, Math.ceil(newest / playSteps))
    const timer = setInterval(
      () => setChosen((present) => Math.min(newest, (present ?? newest) + step)),
      playStepMs,
    )
    return () => clearInterval(timer)
  }, [isPlaying, newest])
  useEffect(() => {
    if (version === newest) setPlaying(false)
  }, [version, newest])

  function play(): void {
    if (version === newest) setChosen(0)
    setPlaying(!isPlaying)
  }
  function step(by: number): void {
    setPlaying(false)
    setChosen(Math.max(0, Math.min(newest, version + by)))
  }

  const at = replay.timeOf(version)
  const author = replay.authorOf(version)
  return (
    <section className="versions" id="history" aria-label="History">
      <div className="versions-head">
        <h2>History</h2>
        <p className="small">{failure ?? reachWords(replay, isLoading)}</p>
      </div>
      {newest > 0 && (
        <div className="versions-controls">
          <input
            type="range"
            className="versions-slider"
            aria-label="Version"
            aria-valuetext={momentWords(at, author)}
            min={0}
            max={newest}
            value={version}
            onChange={(event) => {
              setPlaying(false)
              setChosen(Number(event.target.value))
            }}
          />
          <div className="row versions-buttons">
            <button type="button" className="button" aria-label="One step back" onClick={() => step(-1)}>
              ‹
            </button>
            <button type="button" className="button" onClick={play}>
              {isPlaying ? 'Pause' : 'Play'}
            </button>
            <button type="button" className="button" aria-label="One step on" onClick={() => step(1)}>
              ›
            </button>
            <p className="versions-moment">
              {momentWords(at, author)}
              <span className="small">
                {' '}
                Version {version} of {newest}
              </span>
            </p>
            {start.mayWrite && version < newest && shown && (
              <button
                type="button"
                className="button"
                onClick={() => {
                  actions.restoreVersion(shown.lines).catch((error) => actions.notify(String(error)))
                }}
              >
                Restore this version
              </button>
            )}
          </div>
        </div>
      )}
      {shown && newest > 0 && <Authors version={shown} />}
      {shown && newest > 0 && (
        <div className="document versions-text">
          <Lines version={shown} />
        </div>
      )}
    </section>
  )
}

/** Asks for all portions, one after the other. */
function useHistory(channel: string) {
  const [state, setState] = useState<{ replay: Replay; isLoading: boolean; failure: string | null }>(() => ({
    replay: new Replay(),
    isLoading: true,
    failure: null,
  }))
  useEffect(() => {
    let isStopped = false
    const replay = new Replay()
    async function load(): Promise<void> {
      let after: string | null = null
      do {
        const portion = await askHistory(channel, after)
        if (isStopped) return
        replay.add(portion)
        after = portion.next
        if (after !== null) await new Promise((resolve) => setTimeout(resolve, askPauseMs))
      } while (after !== null && !isStopped)
      if (!isStopped) setState({ replay, isLoading: false, failure: null })
    }
    load().catch((error: Error) => {
      if (!isStopped) setState({ replay, isLoading: false, failure: error.message })
    })
    return () => {
      isStopped = true
    }
  }, [channel])
  return state
}

function reachWords(replay: Replay, isLoading: boolean): string {
  if (isLoading) return 'Reading the log…'
  if (replay.newest === 0)
    return replay.hasBase
      ? 'The log has no changes of this document any more, only its text.'
      : 'There are no changes yet. The history is kept for documents of the shared editor.'
  const at = replay.timeOf(0)
  return replay.hasBase && at !== null
    ? `The log reaches back to ${momentFormat.format(at)}; what was written before then has its text, but neither its steps nor its authors.`
    : 'The log has every change since the document began.'
}

const momentFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })

function momentWords(at: number | null, author: Author | null): string {
  if (at === null) return 'Before the first change'
  return `${momentFormat.format(at)}${author ? `, ${authorWords(author)}` : ''}`
}

function authorWords(author: Author | null): string {
  if (author === null) return 'Earlier'
  return author.name || guestName(author.window ?? '')
}

/** As the carets have them, where no two of them are the same. */
function colourOf(author: Author | null): number | undefined {
  return author?.window == null ? undefined : colourFor(author.window)
}

function Authors({ version }: { readonly version: Version }) {
  const present = new Map<string, Author | null>()
  for (const segments of version.segments.values())
    for (const { author } of segments) present.set(`${author?.window} ${author?.name}`, author)
  if (present.size === 0) return null
  return (
    <ul className="versions-authors" aria-label="Authors">
      {Array.from(present, ([key, author]) => (
        <li key={key}>
          <span className="by" data-colour={colourOf(author)}>
            {authorWords(author)}
          </span>
        </li>
      ))}
    </ul>
  )
}

function Lines({ version }: { readonly version: Version }) {
  return partsOf(version.lines).map((part, place) =>
    'line' in part ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity over versions.
      <Block key={place} line={part.line} version={version} />
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: as above.
      <List key={place} part={part} version={version} />
    ),
  )
}

function Block({ line, version }: { readonly line: Line; readonly version: Version }) {
  // The page has its own headings.
  const tag = /^h[1-6]$/.test(line.block) ? 'div' : line.block
  const { block, align } = line
  return createElement(tag, { 'data-block': block, 'data-align': align ?? undefined }, content(line, version))
}

function List({ part, version }: { readonly part: ListPart; readonly version: Version }): ReactNode {
  return createElement(
    part.kind,
    null,
    part.items.map(({ line, lists }, place) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity over versions.
      <li key={place}>
        {content(line, version)}
        {lists.map((list, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: as above.
          <List key={place} part={list} version={version} />
        ))}
      </li>
    )),
  )
}

function content(line: Line, version: Version): ReactNode {
  const segments = version.segments.get(line) ?? []
  if (segments.length === 0) return <br />
  return segments.map(({ author, runs }, place) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: segments have no identity over versions.
    <span key={place} className="by" data-colour={colourOf(author)} title={authorWords(author)}>
      {inlineNodes(runs).map(inline)}
    </span>
  ))
}

function inline(node: InlineNode, key: number): ReactNode {
  if ('text' in node) return node.text
  if ('lineBreak' in node) return <br key={key} />
  if ('image' in node)
    return node.image.src === '' ? (
      `[${node.image.alt}]`
    ) : (
      <img key={key} {...node.image} alt={node.image.alt} />
    )
  const link = node.href === null ? {} : { href: node.href, target: '_blank', rel: 'noopener noreferrer' }
  return createElement(node.tag, { key, ...link }, node.children.map(inline))
}
