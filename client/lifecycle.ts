// A page's life and the network's, as a link needs to know them.

import type { Link } from './link.ts'
import type { Outbox } from './outbox.ts'

/** Page Lifecycle (WICG), `pageshow`/`pagehide` (HTML 7.4.6) and `online` (HTML 8.10.1) events for a link. */
export function watchWakeUps(
  document: EventTarget & Pick<Document, 'visibilityState'>,
  window: EventTarget,
  link: Pick<Link, 'wake' | 'offline' | 'rest' | 'hide'> & { readonly outbox: Pick<Outbox, 'flush'> },
): void {
  if (document.visibilityState !== 'visible') link.rest()
  window.addEventListener('online', () => link.wake('online'))
  window.addEventListener('offline', () => link.offline())
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') link.wake('visible')
    else {
      // On phones often the last event that a page receives.
      link.outbox.flush()
      link.rest()
    }
  })
  document.addEventListener('freeze', () => link.outbox.flush())
  document.addEventListener('resume', () => link.wake('resumed'))
  window.addEventListener('pageshow', (event) => {
    if ((event as PageTransitionEvent).persisted) link.wake('restored')
  })
  window.addEventListener('pagehide', () => {
    link.outbox.flush()
    link.hide()
  })
}
