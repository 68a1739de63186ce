// What the browser tells a page about its sleep and its network, told on to the link.

import type { Link } from './link.ts'

/** The part of `document` and `window` that is listened to. */
export interface Surroundings {
  readonly document: EventTarget & Pick<Document, 'visibilityState'>
  readonly window: EventTarget
}

/** Page Lifecycle (WICG), HTML 7.4.6 (`pageshow`, `pagehide`), HTML 8.10.1 (`online`). Returns the way to stop. */
export function watchWakeUps(
  { document, window }: Surroundings,
  link: Pick<Link, 'wake' | 'offline' | 'save' | 'rest' | 'hide'>,
): () => void {
  const ending = new AbortController()
  if (document.visibilityState !== 'visible') link.rest()
  const listen = (target: EventTarget, type: string, run: (event: Event) => void) =>
    target.addEventListener(type, run, { signal: ending.signal })

  listen(window, 'online', () => link.wake('online'))
  listen(window, 'offline', link.offline)
  listen(document, 'visibilitychange', () => {
    if (document.visibilityState === 'visible') link.wake('visible')
    else {
      // On phones often the last thing that a page hears.
      link.save()
      link.rest()
    }
  })
  listen(document, 'freeze', link.save)
  listen(document, 'resume', () => link.wake('resumed'))
  listen(window, 'pageshow', (event) => isFromCache(event) && link.wake('restored'))
  listen(window, 'pagehide', () => {
    link.save()
    link.hide()
  })
  return () => ending.abort()
}

/** The first `pageshow` of a page comes without: it has just been opened. */
function isFromCache(event: Event): boolean {
  return 'persisted' in event && event.persisted === true
}
