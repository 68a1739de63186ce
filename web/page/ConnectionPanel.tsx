// What the page's state means, how the window is connected, and the other modes.

import { useEffect, useRef, useState } from 'react'
import { browserTimers, lackingTransports } from '../../client/transports.ts'
import { isShared, modeFor, type WindowMode } from '../../protocol/modes.ts'
import { offeredModes } from '../page-session.ts'
import { readMedians } from '../store.ts'
import { focusByKey, keepFocus, type PageProps, useNow, useView } from './hooks.ts'
import { LineIcon } from './Icons.tsx'
import { explanations, formatInstead, formatMs, formatRetry } from './late-wording.ts'
import { ViewLink } from './Tabs.tsx'
import { fallReason, formatUsed, type StateWords, timeOfDay, usedMode } from './wording.ts'

export interface PanelProps extends PageProps {
  readonly state: StateWords
  readonly onClose: () => void
}

export function ConnectionPanel({ store, actions, start, state, onClose }: PanelProps) {
  const link = useView(store, (view) => view.link)
  const now = useNow(1000, link.retryAt !== null)
  const panel = useRef<HTMLDivElement>(null)
  // Where its button had the focus by keyboard.
  useEffect(() => panel.current?.querySelector<HTMLElement>('[aria-pressed=true]')?.focus(), [])
  const instead = formatInstead(link)
  return (
    <div
      ref={panel}
      className="connection-panel raised"
      role="dialog"
      aria-label="Connection"
      onMouseDown={keepFocus}
    >
      <p className="connection-sentence">{state.sentence}</p>
      <p className="small">
        {link.state === 'open' ? `Connected over ${formatUsed(link)}` : formatRetry(link, now)}
        {instead && ` ${instead}`}
        {link.state === 'open' && '.'}
        {link.state === 'waiting' && (
          <button type="button" className="text-button" onClick={() => actions.retryNow()}>
            Retry now
          </button>
        )}
      </p>
      <h2>How this window connects</h2>
      <ModeList store={store} actions={actions} start={start} onClose={onClose} />
      <ViewLink className="connection-link" name="compare" actions={actions} onChosen={onClose}>
        Which is fastest here?
      </ViewLink>
    </div>
  )
}

/** The server's choice, the usual other one, and all others folded. */
function ModeList({ store, actions, start, onClose }: Omit<PanelProps, 'state'>) {
  const link = useView(store, (view) => view.link)
  const offered = offeredModes(start)
  const standard = modeFor(start.transport, start.http)
  const usual = offered.find(({ isPush, transport }) => isPush && transport !== standard?.transport)
  const others = offered.filter((mode) => mode !== standard && mode !== usual)
  const inUse = usedMode(link)
  const isOther = (name: string) => others.some((mode) => mode.name === name)
  const [isUnfolded, setUnfolded] = useState(isOther(inUse) || isOther(link.preferred))

  const choose = (name: string) => {
    onClose()
    // Choosing the requested mode retries it while another is in use.
    if (name !== inUse || name !== link.preferred) actions.switchMode(name)
  }
  const choice = (mode: WindowMode, isStandard = false) => (
    <li key={mode.name}>
      <ModeChoice store={store} mode={mode} isStandard={isStandard} onChoose={() => choose(mode.name)} />
    </li>
  )
  return (
    <ul className="mode-list" onKeyDown={(event) => focusByKey(event, 'button')}>
      {standard && choice(standard, true)}
      {usual && choice(usual)}
      <li>
        <button
          type="button"
          className="mode-more"
          aria-expanded={isUnfolded}
          onClick={() => setUnfolded(!isUnfolded)}
        >
          More…
          <LineIcon name="chevron" />
        </button>
      </li>
      {isUnfolded && others.map((mode) => choice(mode))}
    </ul>
  )
}

interface ChoiceProps extends Pick<PageProps, 'store'> {
  readonly mode: WindowMode
  /** The server's choice. */
  readonly isStandard: boolean
  readonly onChoose: () => void
}

function ModeChoice({ store, mode, isStandard, onChoose }: ChoiceProps) {
  const { name, label, windowsPerBrowser } = mode
  const link = useView(store, (view) => view.link)
  const share = useView(store, (view) => view.share)
  const medians = readMedians(() => localStorage)
  const median = medians?.ms[name]
  const lacking = lackingTransports()[mode.transport] ?? null
  const reason = name === link.preferred ? fallReason(link) : null
  const isInUse = name === usedMode(link)
  return (
    <button
      type="button"
      className="mode-item"
      data-mode={name}
      aria-pressed={isInUse}
      aria-disabled={lacking !== null}
      onClick={() => lacking ?? onChoose()}
    >
      <span>{isInUse && <LineIcon name="tick" />}</span>
      <span className="mode-label">
        {isStandard ? 'Automatic' : label}
        {Number.isFinite(median) && (
          <span
            className="mode-median small"
            title={`Median of the last comparison in this browser, ${timeOfDay(medians?.at ?? 0, browserTimers.now())}`}
          >
            {' '}
            {formatMs(Number(median))} here
          </span>
        )}
      </span>
      <span className="mode-explanation">
        {lacking
          ? `Not available here. ${lacking}`
          : isStandard
            ? automatic(label)
            : `${explanations[name]}.`}
        {windowsPerBrowser !== null &&
          (isShared(mode, share)
            ? ' Shared by the windows of one browser.'
            : ` For up to ${windowsPerBrowser} windows of one browser.`)}
        {reason && !lacking && <span className="mode-reason"> Requested, but not in use: {reason}.</span>}
      </span>
    </button>
  )
}

const automatic = (label: string) => `The server’s choice, ${label}; another way where that is blocked.`
