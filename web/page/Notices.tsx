// Notices over the page: view, fallback, connection limit, outbox, outage, left and refused edits.

import { type ReactNode, useState } from 'react'
import type { Tone } from '../store.ts'
import { type CommonProps, useHttp1Warning, useNow, useOutbox, useView } from './hooks.ts'
import { NoticeIcon } from './Icons.tsx'
import { fallWords, leftWords, outboxWords } from './wording.ts'

/** Overlaid, so that notices do not move the page. */
export function Notices({ store, actions, mayWrite }: CommonProps & { readonly mayWrite: boolean }) {
  const notice = useView(store, (view) => view.shown.notice)
  const fall = fallWords(useView(store, (view) => view.link))
  const http1 = useHttp1Warning(store)
  const wayOut = http1?.wayOut
  const outbox = useOutbox(store)
  const kept = outboxWords(outbox)
  const outage = useView(store, (view) => view.outage)
  // Oldest first, one at a time.
  const [left] = useView(store, (view) => view.left)
  const now = useNow(60_000, left !== undefined)
  const refusal = useView(store, (view) => view.refusal)
  const moveWindow = wayOut && {
    words: `Move this window to HTTP/${wayOut.http}`,
    onClick: () => actions.switchMode(wayOut.name),
  }
  return (
    <section className="notices" aria-label="Notices">
      {/* Always there: a screen reader announces what is added to a region that it knows. */}
      <div role="status" aria-atomic="false">
        {notice && (
          <Notice
            key={notice.sentence}
            kind={notice.tone}
            dismiss={{ words: 'Dismiss', onClick: actions.dismissViewNotice }}
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
          // The key shows a dismissed notice again when things get worse.
          <Notice key={`${outbox.isFull} ${outbox.isSaved}`} kind="warning">
            {kept}
          </Notice>
        )}
        {left && (
          <Notice
            kind="warning"
            action={{ words: 'Restore', onClick: () => actions.restoreLeft(left.id) }}
            dismiss={{ words: 'Discard', onClick: () => actions.discardLeft(left.id) }}
          >
            {leftWords(left, now)}
          </Notice>
        )}
      </div>
      {outage !== null && (
        // One for each outage; not live, since the header announces it.
        <Notice kind="waiting">
          {outage} {mayWrite && 'You can keep writing: your edits will be sent once the connection is back.'}
        </Notice>
      )}
      {/* An alert: the screen differs from what others see. */}
      <div role="alert">
        {refusal && (
          <Notice kind="refusal" dismiss={{ words: 'Dismiss', onClick: actions.dismissRefusal }}>
            {refusal}
          </Notice>
        )}
      </div>
    </section>
  )
}

interface Action {
  readonly words: string
  readonly onClick: () => void
}

interface NoticeProps {
  readonly kind: Tone | 'waiting' | 'fall' | 'refusal'
  readonly action?: Action | undefined
  /** By default hides the notice until its reason recurs. */
  readonly dismiss?: Action
  readonly children: ReactNode
}

function Notice({ kind, action, dismiss, children }: NoticeProps) {
  const [isHidden, setHidden] = useState(false)
  if (isHidden) return null
  const { words, onClick } = dismiss ?? { words: 'Dismiss', onClick: () => setHidden(true) }
  return (
    <div className="notice" data-kind={kind}>
      <NoticeIcon tone={kind === 'success' || kind === 'information' ? kind : 'warning'} />
      <p>{children}</p>
      <div className="notice-actions row">
        {action && (
          <button type="button" className="button" onClick={action.onClick}>
            {action.words}
          </button>
        )}
        <button type="button" className="button notice-dismiss" onClick={onClick}>
          {words}
        </button>
      </div>
    </div>
  )
}
