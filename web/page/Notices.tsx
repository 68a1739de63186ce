// Notices over the page: view, fallback, connection limit, outbox, outage and refused edits.

import { type ReactNode, useState } from 'react'
import type { DeletionView, Tone } from '../store.ts'
import {
  keepFocus,
  type PageProps,
  useAttempt,
  useHttp1Warning,
  useNow,
  useOutbox,
  useView,
} from './hooks.ts'
import { NoticeIcon } from './Icons.tsx'
import { formatDeletion, formatFall, formatLeft, formatOutage, formatOutbox } from './wording.ts'

/** Overlaid, so that notices do not move the page. */
export function Notices({ store, actions, start }: PageProps) {
  const { mayWrite } = start
  const deletion = useView(store, (view) => view.deletion)
  const notice = useView(store, (view) => view.shown.notice)
  const fall = formatFall(useView(store, (view) => view.link))
  const http1 = useHttp1Warning(store)
  const wayOut = http1?.wayOut
  const outbox = useOutbox(store)
  const kept = formatOutbox(outbox)
  const outage = useView(store, (view) => view.outage)
  const keptAt = useView(store, (view) => view.keptAt)
  const canReopen = useView(store, (view) => view.canReopen)
  const [left] = useView(store, (view) => view.left)
  const now = useNow(60_000, keptAt !== null || left !== undefined)
  const refusal = useView(store, (view) => view.refusal)
  const moveWindow = wayOut && {
    words: `Switch this window to HTTP/${wayOut.http}`,
    onClick: () => actions.switchMode(wayOut.name),
  }
  return (
    <section className="notices" aria-label="Notices">
      {/* Always rendered: a screen reader announces content added to an existing region. */}
      <div role="status" aria-atomic="false">
        {notice && (
          <Notice
            key={notice.sentence}
            kind={notice.tone}
            dismiss={{ words: 'Dismiss', onClick: () => actions.dismissViewNotice() }}
          >
            {notice.sentence}
          </Notice>
        )}
        {fall && <Notice kind="fall">{fall}</Notice>}
        {http1 && (
          <Notice kind="warning" action={moveWindow}>
            {http1.sentence}
          </Notice>
        )}
        {kept && (
          // The key shows a dismissed notice again if things get worse.
          <Notice key={`${outbox.isFull} ${outbox.canPersist}`} kind="warning">
            {kept}
          </Notice>
        )}
        {left && !deletion && (
          <Notice
            kind="warning"
            action={{ words: 'Restore', onClick: () => void actions.restoreLeft(left) }}
            dismiss={{ words: 'Discard', onClick: () => actions.forgetLeft(left) }}
          >
            {formatLeft(left.at, now)}
          </Notice>
        )}
      </div>
      <div role="alert">
        {deletion && <Deleted key={deletion.seq} deletion={deletion} actions={actions} start={start} />}
      </div>
      {outage !== null && (
        // One per outage; not a live region, since the header announces it.
        <Notice kind="waiting">
          {formatOutage({ outage, keptAt, canReopen, mayWrite: mayWrite && !deletion }, now)}
        </Notice>
      )}
      {/* An alert: the screen differs from what others see. */}
      <div role="alert">
        {refusal && (
          <Notice kind="refusal" dismiss={{ words: 'Dismiss', onClick: () => actions.dismissRefusal() }}>
            {refusal}
          </Notice>
        )}
      </div>
    </section>
  )
}

interface DeletedProps extends Omit<PageProps, 'store'> {
  readonly deletion: DeletionView
}

/** Stays until the document is restored. */
function Deleted({ deletion, actions, start: { channel, mayWrite } }: DeletedProps) {
  const { failure, attempt } = useAttempt()
  const now = useNow(60_000, true)
  const bringBack = () => attempt(() => actions.deleteDocument(channel, false))
  const wayOut = deletion.isErased
    ? { words: 'Reload', onClick: () => location.reload() }
    : mayWrite
      ? { words: 'Bring back', onClick: bringBack }
      : undefined
  return (
    <Notice kind="warning" action={wayOut} dismiss={null}>
      {formatDeletion(deletion, now)} {failure}
    </Notice>
  )
}

interface Action {
  readonly words: string
  readonly onClick: () => void
}

interface NoticeProps {
  readonly kind: Tone | 'waiting' | 'fall' | 'refusal'
  readonly action?: Action | undefined
  /** By default hides the notice until its reason recurs; null if it cannot be dismissed. */
  readonly dismiss?: Action | null
  readonly children: ReactNode
}

function Notice({ kind, action, dismiss, children }: NoticeProps) {
  const [isHidden, setHidden] = useState(false)
  if (isHidden) return null
  const last = dismiss === undefined ? { words: 'Dismiss', onClick: () => setHidden(true) } : dismiss
  return (
    <div className="notice" data-kind={kind}>
      <NoticeIcon tone={kind === 'success' || kind === 'information' ? kind : 'warning'} />
      <p>{children}</p>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: for the buttons in it. */}
      <div className="notice-actions row" onMouseDown={keepFocus}>
        {action && (
          <button type="button" className="button" onClick={action.onClick}>
            {action.words}
          </button>
        )}
        {last && (
          <button type="button" className="button notice-dismiss" onClick={last.onClick}>
            {last.words}
          </button>
        )}
      </div>
    </div>
  )
}
