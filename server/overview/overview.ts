// Works out the overview of each page that somebody reads, from its edits and the wind, and publishes it on its channel.

import type { Log } from '../broker/log.ts'
import { overviewName } from '../hub/admission.ts'
import type { Hub } from '../hub/hub.ts'
import { windChannel } from '../sources/publish.ts'
import { isKind, type Message } from '../wire/envelope.ts'
import { type OverviewBody, overviewChannel, pageOfOverview } from '../wire/overview.ts'
import type { Timers } from '../wire/time.ts'
import { createPage, type Page } from './page-figures.ts'
import { createSteadyClock } from './steady-clock.ts'
import { createTelling, type Telling } from './telling.ts'
import { createWindRecord } from './wind-overview.ts'

export interface OverviewParts {
  readonly log: Pick<Log, 'follow' | 'snapshot' | 'heads'>
  readonly hub: Pick<Hub, 'publish' | 'isRead'>
  readonly timers: Timers
  /** Names this run of the server: the log remembers the ids of the last one. */
  readonly run: string
  /** Channels that the log takes. */
  readonly maxChannels: number
  readonly onFailure: (error: unknown) => void
}

export interface Overview {
  /** A window has come that reads these channels. */
  readonly joined: (channels: ReadonlySet<string>) => void
  readonly stop: () => void
}

interface Known {
  readonly page: Page
  readonly telling: Telling
}

/** Follows the log from now on. What costs something, counting and publishing, is done for pages that are read. */
export function startOverview(parts: OverviewParts): Overview {
  const { log, hub, timers } = parts
  const steadyNow = createSteadyClock(timers.now)
  const countedSince = timers.now()
  const wind = createWindRecord(steadyNow)
  const known = new Map<string, Known>()
  const newChannels = new Set<string>()
  let published = 0

  const unfollow = log.follow((message) => {
    if (isKind(message, 'edit')) takeEdit(message)
    else wind.take(message)
  })

  function takeEdit(edit: Message<'edit'>): void {
    const channel = overviewChannel(edit.channel)
    if (channel !== null) find(edit.channel, channel).page.edited(edit)
  }

  function find(name: string, channel: string): Known {
    const found = known.get(name) ?? begin(name, channel)
    known.set(name, found)
    return found
  }

  function begin(name: string, channel: string): Known {
    const page = createPage(timers, steadyNow)
    const telling = createTelling({
      timers,
      steadyNow,
      isRead: () => hub.isRead(channel),
      look: async () => (hasRoomFor(name, channel) ? figuresOf(name, page) : null),
      tell: (body) => publish(channel, body),
      onUnread() {
        page.rest()
        if (page.edits() === 0) known.delete(name)
      },
      onFailure: parts.onFailure,
    })
    return { page, telling }
  }

  /** Whoever may read all pages can name any number that there are not: they may not fill the log with channels. */
  function hasRoomFor(name: string, channel: string): boolean {
    const heads = log.heads()
    if (heads.has(name) || heads.has(channel)) return true
    if (heads.size + newChannels.size >= parts.maxChannels / 2) return false
    newChannels.add(channel)
    return true
  }

  async function figuresOf(name: string, page: Page): Promise<OverviewBody> {
    if (!page.isKnown()) page.remember(await newestEdit(name))
    return { ...(await page.figures()), countedSince, wind: wind.overview() }
  }

  async function newestEdit(name: string): Promise<Message<'edit'> | null> {
    const { messages } = await log.snapshot(new Set([name]))
    return messages.find((message) => isKind(message, 'edit')) ?? null
  }

  async function publish(channel: string, body: OverviewBody): Promise<void> {
    published += 1
    const id = `${overviewName}-${parts.run}-${published}`
    await hub.publish({ id, channel, kind: 'overview', from: overviewName, at: timers.now(), body })
    newChannels.delete(channel)
  }

  return {
    joined(channels) {
      for (const channel of channels) {
        const name = pageOfOverview(channel)
        if (name !== null && isPage(name)) find(name, channel).telling.joined()
      }
    },
    stop() {
      unfollow()
      for (const { telling } of known.values()) telling.stop()
    },
  }
}

function isPage(channel: string): boolean {
  return channel !== windChannel && pageOfOverview(channel) === null
}
