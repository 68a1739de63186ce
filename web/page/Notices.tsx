// What a person should know now: the link is down or another than asked for, room or connections run out, an edit was refused.

import type { ReactNode } from 'react'
import type { Store } from '../store/store.ts'
import type { Actions } from './actions.ts'
import { Caution } from './Icons.tsx'
import { fallWords } from './link-words.ts'
import { outboxWords } from './outbox-words.ts'
import { useHttp1Warning } from './use-http1-warning.ts'
import { useOutbox } from './use-outbox.ts'
import { useView } from './use-view.ts'

interface NoticeProps {
  readonly store: Store
  readonly actions: Actions
}

/** Why the link is down. The header announces it, so it is not announced here again. */
export function WaitingNotice({ store }: Pick<NoticeProps, 'store'>) {
  const isWaiting = useView(store, (view) => view.link.state === 'waiting')
  const reason = useView(store, (view) => view.link.reason)
  if (!isWaiting) return null
  return (
    <Notice kind="waiting">
      {reason ?? 'The server does not answer.'} You can go on writing: your edits are sent once the link is
      back.
    </Notice>
  )
}

/** The mode that was asked for does not work here. */
export function FallNotice({ store }: Pick<NoticeProps, 'store'>) {
  const sentence = fallWords(useView(store, (view) => view.link))
  return sentence ? (
    <Notice kind="fall" isLive>
      {sentence}
    </Notice>
  ) : null
}

/** Not all that was typed is where it should be. */
export function OutboxNotice({ store }: Pick<NoticeProps, 'store'>) {
  const sentence = outboxWords(useOutbox(store))
  return sentence ? (
    <Notice kind="warning" isLive>
      {sentence}
    </Notice>
  ) : null
}

/** One window more would leave this browser without a connection to type over. */
export function Http1Notice({ store, actions }: NoticeProps) {
  const warning = useHttp1Warning(store)
  if (!warning) return null
  const { sentence, wayOut } = warning
  return (
    <Notice
      kind="warning"
      isLive
      action={
        wayOut && {
          words: `Move this window to HTTP/${wayOut.http}`,
          onClick: () => actions.switchMode(wayOut.name),
        }
      }
    >
      {sentence}
    </Notice>
  )
}

/** The address asks for a view that there is not. */
export function ViewNotice({ store, actions }: NoticeProps) {
  const sentence = useView(store, (view) => view.shown.notice)
  return sentence ? (
    <Notice kind="warning" isLive action={{ words: 'Dismiss', onClick: actions.dismissViewNotice }}>
      {sentence}
    </Notice>
  ) : null
}

/** The server refused an edit, for good. It interrupts, since what is on the screen is not what others see. */
export function RefusalNotice({ store, actions }: NoticeProps) {
  const refusal = useView(store, (view) => view.refusal)
  return (
    <div role="alert">
      {refusal && (
        <Notice kind="refusal" action={{ words: 'Dismiss', onClick: actions.dismissRefusal }}>
          {refusal}
        </Notice>
      )}
    </div>
  )
}

interface FrameProps {
  readonly kind: 'waiting' | 'fall' | 'warning' | 'refusal'
  readonly isLive?: boolean
  readonly action?: { readonly words: string; readonly onClick: () => void } | undefined
  readonly children: ReactNode
}

function Notice({ kind, isLive = false, action, children }: FrameProps) {
  return (
    <div className="notice" data-kind={kind}>
      <div className="notice-body">
        <div className="notice-words">
          <Caution />
          <p aria-live={isLive ? 'polite' : undefined}>{children}</p>
        </div>
        {action && (
          <button type="button" className="button" onClick={action.onClick}>
            {action.words}
          </button>
        )}
      </div>
    </div>
  )
}
