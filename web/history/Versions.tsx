// A document's versions by sitting, with names: each step coloured by author, and a restore button.

import { createElement, type FormEvent, Fragment, type ReactNode, useEffect, useMemo, useState } from 'react'
import {
  type InlineNode,
  inlineNodes,
  type Line,
  type ListPart,
  partsOf,
} from '../../app/document/rich-text.ts'
import { maxTitleLength, titleFrom } from '../../app/shared/page-messages.ts'
import { askHistory } from '../documents/document-requests.ts'
import { colourFor } from '../editor/presence.ts'
import { type PageProps, useMayWrite, useView } from '../page/hooks.ts'
import { type Author, formatAuthor, Replay, type Version } from './replay.ts'
import '../styles/versions.css'

/** Pause between two portions: the server allows a window ten a second. */
const askPauseMs = 110

/** Plays a sitting in about 20 s. */
const playStepMs = 100
const playSteps = 200

export function Versions({ store, actions, start }: PageProps) {
  const mayWrite = useMayWrite(store, start)
  const { replay, isLoading, failure } = useHistory(start.channel)
  const named = useView(store, (view) => view.versions)
  const names = useMemo(
    () => new Map(named.map(({ at, name }) => [replay.versionAt(at), name])),
    [replay, named],
  )
  const entries = useMemo(() => (isLoading ? [] : entriesOf(replay, names)), [replay, isLoading, names])
  const [chosen, setChosen] = useState<{ readonly entry: Entry; readonly version: number } | null>(null)
  const [isPlaying, setPlaying] = useState(false)
  const entry = chosen?.entry ?? entries[0]
  const version = chosen?.version ?? entry?.version ?? 0
  const first = entry?.first ?? version
  const shown = useMemo(
    () => (isLoading ? null : replay.show(version, first)),
    [replay, isLoading, version, first],
  )

  function go(to: number): void {
    if (entry) setChosen({ entry, version: Math.max(entry.first, Math.min(entry.last, to)) })
  }
  useEffect(() => {
    if (!isPlaying || !entry) return
    const { first, last } = entry
    const step = Math.max(1, Math.ceil((last - first) / playSteps))
    const timer = setInterval(
      () => setChosen((present) => ({ entry, version: Math.min(last, (present?.version ?? first) + step) })),
      playStepMs,
    )
    return () => clearInterval(timer)
  }, [isPlaying, entry])
  useEffect(() => {
    if (version === entry?.last) setPlaying(false)
  }, [version, entry])

  const at = replay.timeOf(version)
  return (
    <section className="versions" id="history" aria-label="History">
      <div className="versions-head">
        <h2>History</h2>
        <p className="small">{failure ?? formatReach(replay, isLoading)}</p>
      </div>
      {entry && (
        <VersionList
          entries={entries}
          chosen={entry}
          onChoose={(one) => {
            setPlaying(false)
            setChosen({ entry: one, version: one.version })
          }}
        />
      )}
      {entry && (
        <div className="versions-controls">
          <Slider
            entry={entry}
            version={version}
            moment={formatMoment(at, replay.authorOf(version))}
            difference={shown && formatDifference(shown)}
            isPlaying={isPlaying}
            onGo={(to) => {
              setPlaying(false)
              go(to)
            }}
            onPlay={() => {
              if (version === entry.last) go(entry.first)
              setPlaying(!isPlaying)
            }}
          >
            {mayWrite && version < replay.newest && shown && (
              <button
                type="button"
                className="button primary-button"
                onClick={() => {
                  actions.restoreVersion(shown.lines).catch((error) => actions.notify(String(error)))
                }}
              >
                Restore this version
              </button>
            )}
          </Slider>
          {mayWrite && at !== null && (
            <VersionName
              key={at}
              name={names.get(version) ?? ''}
              onChoose={(name) => actions.nameVersion(at, name)}
            />
          )}
        </div>
      )}
      {shown && entry && (
        <div className="versions-shown">
          <Authors authors={authorsOf(shown)} />
          <div
            className="document versions-text"
            data-shared={authorsOf(shown).size > 0 || undefined}
            translate="no"
          >
            <Lines version={shown} />
          </div>
        </div>
      )}
    </section>
  )
}

interface VersionListProps {
  readonly entries: readonly Entry[]
  readonly chosen: Entry
  readonly onChoose: (entry: Entry) => void
}

function VersionList({ entries, chosen, onChoose }: VersionListProps) {
  return (
    <ol className="versions-list" aria-label="Versions">
      {entries.map((one) => (
        <li key={one.version}>
          <button
            type="button"
            className="versions-entry"
            aria-current={one.version === chosen.version}
            onClick={() => onChoose(one)}
          >
            <span className="versions-name" translate={one.name ? 'no' : undefined}>
              {one.name || formatSpan(one)}
            </span>
            <span className="small">
              {one.name && `${formatSpan(one)}, `}
              <span className="by" data-colour={colourOf(one.author)}>
                {formatAuthor(one.author)}
              </span>
              {one.changes > 0 && `, ${one.changes === 1 ? '1 change' : `${one.changes} changes`}`}
            </span>
          </button>
        </li>
      ))}
    </ol>
  )
}

interface SliderProps {
  readonly entry: Entry
  readonly version: number
  /** Its time and author, as text. */
  readonly moment: string
  /** What the version has more and less than before it. */
  readonly difference: string | null
  readonly isPlaying: boolean
  readonly onGo: (version: number) => void
  readonly onPlay: () => void
  readonly children: ReactNode
}

function Slider({ entry, version, moment, difference, isPlaying, onGo, onPlay, children }: SliderProps) {
  return (
    <>
      <input
        type="range"
        className="versions-slider"
        aria-label="Change in this version"
        aria-valuetext={moment}
        min={entry.first}
        max={entry.last}
        value={version}
        onChange={(event) => onGo(Number(event.target.value))}
      />
      <div className="row versions-buttons">
        <button
          type="button"
          className="button"
          aria-label="One change back"
          onClick={() => onGo(version - 1)}
        >
          ‹
        </button>
        <button type="button" className="button" onClick={onPlay}>
          {isPlaying ? 'Pause' : 'Play'}
        </button>
        <button type="button" className="button" aria-label="One change on" onClick={() => onGo(version + 1)}>
          ›
        </button>
        <p className="versions-moment">
          {moment}
          <span className="small">
            {' '}
            Change {version - entry.first} of {entry.last - entry.first}
            {difference && `: ${difference}`}
          </span>
        </p>
        {children}
      </div>
    </>
  )
}

interface Entry {
  /** The version that it shows when chosen. */
  readonly version: number
  /** Its first and last step. */
  readonly first: number
  readonly last: number
  /** Ms since the epoch. */
  readonly from: number
  readonly to: number
  readonly author: Author | null
  /** By that author; 0 for a version within a sitting. */
  readonly changes: number
  readonly name: string
}

/** Sittings, and named versions within them, newest first. */
function entriesOf(replay: Replay, names: ReadonlyMap<number | null, string>): Entry[] {
  const entries = replay.sittings().flatMap(({ versions, from, to }) => {
    const begin = versions[0] ?? 0
    const end = versions.at(-1) ?? 0
    const steps = { first: begin - 1, last: end, author: replay.authorOf(end) }
    const sitting = { ...steps, version: end, from, to, changes: versions.length, name: names.get(end) ?? '' }
    const within = versions.flatMap((version): Entry[] => {
      const name = names.get(version)
      const at = replay.timeOf(version)
      if (!name || at === null || version === end) return []
      return [{ ...steps, version, from: at, to: at, changes: 0, name }]
    })
    return [...within, sitting]
  })
  const base = names.get(0)
  const baseAt = replay.timeOf(0)
  if (base && baseAt !== null)
    entries.push({
      version: 0,
      first: 0,
      last: 0,
      from: baseAt,
      to: baseAt,
      author: null,
      changes: 0,
      name: base,
    })
  return entries.sort((one, other) => other.version - one.version)
}

interface VersionNameProps {
  readonly name: string
  readonly onChoose: (name: string) => void
}

function VersionName({ name, onChoose }: VersionNameProps) {
  const [draft, setDraft] = useState(name)
  useEffect(() => setDraft(name), [name])
  function submit(event: FormEvent): void {
    event.preventDefault()
    onChoose(titleFrom(draft))
  }
  return (
    <form className="version-name row" onSubmit={submit}>
      <input
        className="field"
        aria-label="Name of this version"
        placeholder="Name this version"
        maxLength={maxTitleLength}
        value={draft}
        onChange={({ target }) => setDraft(target.value)}
      />
      <button type="submit" className="button" disabled={titleFrom(draft) === name}>
        Save
      </button>
    </form>
  )
}

/** Requests all portions, one after the other. */
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

function formatReach(replay: Replay, isLoading: boolean): string {
  if (isLoading) return 'Reading the log…'
  if (replay.newest === 0)
    return replay.hasBase
      ? 'The log no longer has any changes of this document, only its text.'
      : 'There are no changes yet.'
  const at = replay.timeOf(0)
  return replay.hasBase && at !== null
    ? `The log reaches back to ${momentFormat.format(at)}; of what was written before then it has the text, but not the steps or authors.`
    : 'The log has every change since the document began.'
}

/** Such as `42 letters added, 3 removed`; empty if the text is the same. */
function formatDifference({ segments }: Version): string {
  let added = 0
  let removed = 0
  for (const { runs, isAdded, removed: before } of [...segments.values()].flat()) {
    if (isAdded) added += runs.reduce((sum, { text }) => sum + text.length, 0)
    removed += before.replaceAll('\n', '').length
  }
  const letters = (count: number) => (count === 1 ? '1 letter' : `${count.toLocaleString('en-GB')} letters`)
  if (added === 0) return removed === 0 ? '' : `${letters(removed)} removed`
  return `${letters(added)} added${removed === 0 ? '' : `, ${removed.toLocaleString('en-GB')} removed`}`
}

const spanFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' })

const formatSpan = ({ from, to }: Entry) => spanFormat.formatRange(from, to)

const momentFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })

function formatMoment(at: number | null, author: Author | null): string {
  if (at === null) return 'Before the first change'
  return `${momentFormat.format(at)}${author ? `, ${formatAuthor(author)}` : ''}`
}

/** The carets' colours, in which no two are the same. */
function colourOf(author: Author | null): number | undefined {
  return author?.window == null ? undefined : colourFor(author.window)
}

/** The authors of the shown text, if there are several: one alone needs no colour. */
function authorsOf(version: Version): ReadonlyMap<string, Author | null> {
  const present = new Map<string, Author | null>()
  for (const segments of version.segments.values())
    for (const { author, runs } of segments)
      if (runs.length > 0) present.set(`${author?.window} ${author?.name}`, author)
  return present.size > 1 ? present : new Map()
}

function Authors({ authors }: { readonly authors: ReadonlyMap<string, Author | null> }) {
  if (authors.size === 0) return null
  return (
    <ul className="versions-authors" aria-label="Authors">
      {Array.from(authors, ([key, author]) => (
        <li key={key}>
          <span className="by" data-colour={colourOf(author)}>
            {formatAuthor(author)}
          </span>
        </li>
      ))}
    </ul>
  )
}

function Lines({ version }: { readonly version: Version }) {
  return partsOf(version.lines).map((part, index) =>
    'line' in part ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity over versions.
      <Block key={index} line={part.line} version={version} />
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: as above.
      <List key={index} part={part} version={version} />
    ),
  )
}

function Block({ line, version }: { readonly line: Line; readonly version: Version }) {
  // The page already uses its own headings.
  const tag = /^h[1-6]$/.test(line.block) ? 'div' : line.block
  const { block, align } = line
  return createElement(tag, { 'data-block': block, 'data-align': align ?? undefined }, content(line, version))
}

function List({ part, version }: { readonly part: ListPart; readonly version: Version }): ReactNode {
  return createElement(
    part.kind,
    null,
    part.items.map(({ line, lists }, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity over versions.
      <li key={index}>
        {content(line, version)}
        {lists.map((list, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: as above.
          <List key={index} part={list} version={version} />
        ))}
      </li>
    )),
  )
}

function content(line: Line, version: Version): ReactNode {
  const segments = version.segments.get(line) ?? []
  if (segments.length === 0) return <br />
  return segments.map(({ author, runs, isAdded, removed }, index) => {
    const Tag = isAdded ? 'ins' : 'span'
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: segments have no identity over versions.
      <Fragment key={index}>
        {removed !== '' && <del>{removed.replaceAll('\n', ' ↵ ').replaceAll('\uFFFC', '[image]')}</del>}
        {runs.length > 0 && (
          <Tag className="by" data-colour={colourOf(author)} title={formatAuthor(author)}>
            {inlineNodes(runs).map(inline)}
          </Tag>
        )}
      </Fragment>
    )
  })
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
