// The state of the link, always in sight: a shape, words, and a way to try at once.

import type { Store } from '../store/store.ts'
import type { Actions } from './actions.ts'
import { LinkShape } from './Icons.tsx'
import { linkAnnouncement, linkWords, spokenWords } from './link-words.ts'
import { useNow } from './use-now.ts'
import { useView } from './use-view.ts'

interface LinkStatusProps {
  readonly store: Store
  readonly actions: Actions
}

/** Stands directly before the mode menu, whose label completes its sentence: "Connected · WebSocket". */
export function LinkStatus({ store, actions }: LinkStatusProps) {
  const link = useView(store, (view) => view.link)
  const now = useNow(1000, link.retryAt !== null)
  const spoken = spokenWords(link)
  return (
    <div className="link" data-state={link.state}>
      <LinkShape state={link.state} />
      <span className="link-words">{linkWords(link, now)}</span>
      {link.state === 'waiting' && (
        <button type="button" className="text-button" onClick={actions.retryNow}>
          Try now
        </button>
      )}
      {spoken && <span className="link-spoken">{spoken}</span>}
      <output className="visually-hidden">{linkAnnouncement(link)}</output>
    </div>
  )
}
