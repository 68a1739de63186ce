// The warning about HTTP/1.1 as it stands for this window.

import { useMemo } from 'react'
import { modeNamed } from '../../server/wire/modes.ts'
import type { Store } from '../store/store.ts'
import { type Http1Warning, http1Warning } from './http1-warning.ts'
import { useView } from './use-view.ts'

export function useHttp1Warning(store: Store): Http1Warning | null {
  const mode = useView(store, (view) => view.link.mode)
  const streams = useView(store, (view) => view.browserHttp1Streams)
  return useMemo(() => http1Warning(modeNamed(mode), streams), [mode, streams])
}
