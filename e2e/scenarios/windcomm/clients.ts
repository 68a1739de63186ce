// The windows of a site that has no browser.

import type { Mode } from '../../../server/wire/modes.ts'
import type { Random } from '../../../server/wire/random.ts'
import type { Receipt } from '../../lab/windcomm/matching.ts'
import { openClientWindow } from './client-window.ts'
import type { Ground } from './ground.ts'
import { channelOf, type ListeningWindow, refuseOtherMode } from './window.ts'

export function openClient(ground: Ground, site: string, mode: Mode, random: Random): ListeningWindow {
  const receipts: Receipt[] = []
  const origin = ground.originOf(site, mode.name)
  const window = openClientWindow({
    name: channelOf(site, mode.name),
    mode,
    originFor: () => origin,
    ca: ground.ca,
    polling: ground.polling,
    random,
    onReading: ({ id }, receivedAt) => void receipts.push({ id, receivedAt }),
  })
  return {
    site,
    mode: mode.name,
    isOpen: async () => window.state()?.state === 'open',
    count: async () => receipts.length,
    has: async (id) => receipts.some((receipt) => receipt.id === id),
    async receipts() {
      refuseOtherMode(site, mode.name, window.state()?.mode)
      return receipts
    },
    close: window.close,
  }
}
