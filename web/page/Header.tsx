// The sticky header, of constant height, with the mode menu, and the view switch below it.

import type { AnchorHTMLAttributes, MouseEvent } from 'react'
import { browserTimers, lackingTransports } from '../../client/transports.ts'
import { isShared, modeFor, type Share, type WindowMode } from '../../protocol/modes.ts'
import { homeAddress } from '../documents/document-requests.ts'
import { offeredModes } from '../page-session.ts'
import { type LastMedians, readMedians } from '../store.ts'
import { Menu } from './Controls.tsx'
import {
  type CommonProps,
  keepFocus,
  type PageProps,
  useHttp1Warning,
  useNow,
  useOutbox,
  useView,
} from './hooks.ts'
import { Caution, LineIcon, LinkShape, Mark } from './Icons.tsx'
import { People } from './People.tsx'
import { addressInView, type ViewName, views } from './views.ts'
import {
  explanations,
  fallReason,
  formatInstead,
  formatLink,
  formatMs,
  formatStored,
  formatUsed,
  linkAnnouncement,
  timeOfDay,
  usedMode,
} from './wording.ts'

export function Header({ store, actions, start }: PageProps) {
  return (
    <header className="header">
      <div className="bar row">
        <h1 className="brand">
          <a className="brand-link row" href={homeAddress(location.href)} aria-label="Crosswind, home">
            <Mark />
            <span className="brand-name">Crosswind</span>
          </a>
        </h1>
        <div className="status row">
          <LinkStatus store={store} actions={actions} />
          <ModeMenu store={store} actions={actions} start={start} />
        </div>
        <People store={store} actions={actions} />
        <Counts store={store} start={start} />
        <OpenWindow store={store} actions={actions} />
      </div>
    </header>
  )
}

/** Precedes the mode menu, whose label completes the sentence: "Connected · WebSocket". */
function LinkStatus({ store, actions }: CommonProps) {
  const link = useView(store, (view) => view.link)
  const outage = useView(store, (view) => view.outage)
  const now = useNow(1000, link.retryAt !== null)
  // Constant over the retries of an outage, to prevent flicker.
  const state = outage === null ? link.state : 'waiting'
  const [word, ...countdown] = formatLink(link, now, outage).split(' ')
  return (
    <div className="link" data-state={state}>
      <LinkShape state={state} />
      <span className="link-words">
        {word}
        {countdown.length > 0 && <span className="link-countdown"> {countdown.join(' ')}</span>}
      </span>
      {state === 'waiting' && (
        <button
          type="button"
          className="text-button"
          onMouseDown={keepFocus}
          onClick={() => actions.retryNow()}
        >
          Retry now
        </button>
      )}
      <output className="visually-hidden">{linkAnnouncement(link, outage)}</output>
    </div>
  )
}

const groups = [
  { heading: 'Push', isOf: ({ isPush }: WindowMode) => isPush },
  { heading: 'Polling', isOf: ({ isPush }: WindowMode) => !isPush },
]

/** The mode in use, as a button that opens a menu of the modes. */
function ModeMenu({ store, actions, start }: PageProps) {
  const link = useView(store, (view) => view.link)
  const instead = formatInstead(link)
  return (
    <Menu
      label="Mode"
      className="mode row"
      buttonClass="mode-button row"
      listClass="mode-list raised"
      title={instead ?? undefined}
      shown={
        <>
          <span className="visually-hidden">Mode: </span>
          {instead && <Caution />}
          <span className="mode-name">{formatUsed(link)}</span>
          <span className="visually-hidden"> {instead}</span>
          <LineIcon name="chevron" />
        </>
      }
    >
      {(close) => <ModeList store={store} actions={actions} start={start} onClose={close} />}
    </Menu>
  )
}

function ModeList({ store, actions, start, onClose }: PageProps & { readonly onClose: () => void }) {
  const link = useView(store, (view) => view.link)
  const share = useView(store, (view) => view.share)
  const { preferred } = link
  const inUse = usedMode(link)
  const reason = fallReason(link)
  const defaultMode = modeFor(start.transport, start.http)?.name
  const lacking = lackingTransports()
  const medians = readMedians(() => localStorage)
  const offered = offeredModes(start)

  function choose(name: string): void {
    onClose()
    // Choosing the requested mode retries it while another is in use.
    if (name !== inUse || name !== preferred) actions.switchMode(name)
  }
  return (
    <>
      {groups.map(({ heading, isOf }) => (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset is no part of a menu.
        <div key={heading} className="mode-group" role="group" aria-label={heading}>
          <div className="mode-heading small" aria-hidden="true">
            {heading}
          </div>
          {offered.filter(isOf).map((mode) => (
            <ModeItem
              key={mode.name}
              mode={mode}
              isInUse={mode.name === inUse}
              isDefault={mode.name === defaultMode}
              lacking={lacking[mode.transport] ?? null}
              reason={mode.name === preferred ? reason : null}
              medians={medians}
              share={share}
              onChoose={() => choose(mode.name)}
            />
          ))}
        </div>
      ))}
      {views.map(
        (view) =>
          'menuWords' in view && (
            <ViewLink
              key={view.name}
              className="mode-item mode-view"
              role="menuitem"
              name={view.name}
              tabIndex={-1}
              actions={actions}
              onChosen={onClose}
            >
              {view.menuWords}
            </ViewLink>
          ),
      )}
    </>
  )
}

interface ModeItemProps {
  readonly mode: WindowMode
  readonly isInUse: boolean
  readonly isDefault: boolean
  /** One sentence saying what this browser lacks, or null. */
  readonly lacking: string | null
  /** Why it is not in use although it was requested. */
  readonly reason: string | null
  readonly medians: LastMedians | null
  readonly share: Share
  readonly onChoose: () => void
}

function ModeItem({ mode, isInUse, isDefault, lacking, reason, medians, share, onChoose }: ModeItemProps) {
  const { name, label, windowsPerBrowser } = mode
  const median = medians?.ms[name]
  return (
    <button
      type="button"
      className="mode-item"
      data-mode={name}
      role="menuitemradio"
      aria-checked={isInUse}
      aria-disabled={lacking !== null}
      tabIndex={-1}
      onClick={() => lacking ?? onChoose()}
    >
      <span>{isInUse && <LineIcon name="tick" />}</span>
      <span className="mode-label">
        {label}
        {isDefault && <span className="mode-default small"> default</span>}
        {Number.isFinite(median) && (
          <span
            className="mode-default small"
            title={`Median of “Compare here” in this browser, ${timeOfDay(medians?.at ?? 0, browserTimers.now())}`}
          >
            {' · '}
            {formatMs(Number(median))}
          </span>
        )}
      </span>
      <span className="mode-explanation">
        {lacking ? `Not available here. ${lacking}` : `${explanations[name]}.`}
        {windowsPerBrowser !== null &&
          (isShared(mode, share)
            ? ' Shared by the windows of one browser.'
            : ` For up to ${windowsPerBrowser} windows of one browser.`)}
        {reason && !lacking && <span className="mode-reason"> Requested, but not in use: {reason}.</span>}
      </span>
    </button>
  )
}

function Counts({ store, start }: Omit<PageProps, 'actions'>) {
  const state = useView(store, (view) => view.link.state)
  const isUnshared = useView(store, (view) => view.isUnshared)
  const isDeleted = useView(store, ({ deletion }) => deletion !== null)
  const outbox = useOutbox(store)
  const isStored = outbox.unstored === 0 && !outbox.isFull && !isUnshared && !isDeleted
  return (
    <p className="counts">
      {start.mayWrite ? (
        <span className="stored" data-stored={isStored} data-refused={isUnshared}>
          {formatStored(outbox, state, isUnshared, isDeleted)}
        </span>
      ) : (
        <span>Read-only</span>
      )}
    </p>
  )
}

function OpenWindow({ store, actions }: CommonProps) {
  const wayOut = useHttp1Warning(store)?.wayOut
  return (
    <div className="open-window row">
      {wayOut && (
        <span className="open-note small" id="open-note">
          The next window opens over HTTP/{wayOut.http}
        </span>
      )}
      <button
        type="button"
        className="button"
        aria-describedby={wayOut && 'open-note'}
        onClick={() => actions.openWindow()}
      >
        <LineIcon name="plus" />
        <span className="open-words">New window</span>
      </button>
    </div>
  )
}

interface ViewLinkProps
  extends Pick<AnchorHTMLAttributes<HTMLAnchorElement>, 'className' | 'role' | 'tabIndex' | 'children'> {
  readonly name: ViewName
  readonly actions: CommonProps['actions']
  readonly isShown?: boolean
  readonly onChosen?: () => void
}

/** A link, so that a view can be opened in another window. */
function ViewLink({ name, actions, isShown, onChosen, ...given }: ViewLinkProps) {
  function choose(event: MouseEvent): void {
    // With these keys the browser opens another tab or window.
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    onChosen?.()
    actions.chooseView(name)
  }
  return (
    <a
      {...given}
      href={addressInView(location.href, name)}
      aria-current={isShown ? 'page' : undefined}
      onClick={choose}
    />
  )
}

export function ViewSwitch({ store, actions }: CommonProps) {
  const shown = useView(store, (view) => view.shown.name)
  return (
    <nav className="views" aria-label="View">
      {views.map(
        (view) =>
          !('menuWords' in view) && (
            <ViewLink
              key={view.name}
              className="view-link"
              name={view.name}
              actions={actions}
              isShown={view.name === shown}
            >
              {view.label}
            </ViewLink>
          ),
      )}
    </nav>
  )
}
