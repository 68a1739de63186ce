// The networks as they were run, with every figure it takes to run them again, and how well the links kept to them.

import type { LinkUse } from '../../lab/windcomm/links.ts'
import type { Site } from '../../lab/windcomm/run.ts'
import type { WindSummary } from '../../lab/windcomm/summary.ts'
import { placeName } from '../../lab/windcomm/words.ts'
import type { Delay } from '../../network/path.ts'
import { count, figure, nothing } from '../format.ts'
import { number, type Section, type Table, text } from '../section.ts'
import { cellLabel } from './labels.ts'

export function networksSection({ sites, links }: WindSummary): Section {
  return {
    title: 'The networks',
    tables: [profilesTable(sites), linksTable(links)],
    paragraphs: [
      'Each method at each site has a link of its own, a relay on this machine that holds every byte back in each direction for as long as the profile says, in order, handshakes included. Links of their own keep one method from waiting behind another’s bytes and let no two share a connection; one seed for a site gives all of them the same course of queues and stalls, to the millisecond.',
      'A queue is log-normal, and its course keeps its correlation for the time given; a stall is a burst of loss that TCP sits out: what enters meanwhile leaves at its end, in order. Late is when a link let something go minus when it was due: what the links add of their own. “Counting” is the mean of both ways while readings counted; the other figures have the opening of the windows in them, when much happens at once.',
      ...sites.map(({ name, profile }) => `${placeName(name)}: ${profile.source}`),
    ],
  }
}

function profilesTable(sites: readonly Site[]): Table {
  return {
    caption: 'Profiles as they were run, each direction; milliseconds',
    columns: [
      text('Site'),
      text('Way'),
      ...[
        'Floor',
        'Queue, mean',
        'Queue, sd',
        'Correlation',
        'Stalls a minute',
        'Stall',
        'kbit/s',
        'Seed',
      ].map(number),
      text('Windows'),
    ],
    rows: sites.flatMap((site) => [
      profileRow(site, 'down', site.profile.down),
      profileRow(site, 'up', site.profile.up),
    ]),
  }
}

function profileRow({ name, profile, seed, windows }: Site, way: string, delay: Delay): readonly string[] {
  const { floorMs, queueMeanMs, queueSdMs, correlationMs, stalls } = delay
  return [
    placeName(name),
    way,
    ...[floorMs, queueMeanMs, queueSdMs, correlationMs].map(figure),
    stalls ? figure(60 * stalls.perSecond) : nothing,
    stalls ? `${figure(stalls.leastMs)} to ${figure(stalls.mostMs)}` : nothing,
    profile.kilobitsPerSecond === null ? nothing : count(profile.kilobitsPerSecond),
    String(seed),
    windows === 'browser' ? 'browser' : 'clients',
  ]
}

function linksTable(links: readonly LinkUse[]): Table {
  return {
    caption: 'Links, from their start to the end of the run; late in milliseconds',
    columns: [
      text('Site, method'),
      ...['Connections', 'Up, kB', 'Down, kB'].map(number),
      ...['Late, counting', 'Down, mean', 'p99', 'Max.', 'Up, mean', 'p99', 'Max.'].map(number),
    ],
    rows: links.map(({ site, mode, opened, upBytes, downBytes, lateMs, up, down }) => [
      cellLabel(site, mode),
      count(opened),
      ...[upBytes, downBytes].map((bytes) => count(Math.round(bytes / 1000))),
      figure(lateMs),
      ...[down, up].flatMap(({ meanMs, p99Ms, maxMs }) => [meanMs, p99Ms, maxMs].map(figure)),
    ]),
  }
}
