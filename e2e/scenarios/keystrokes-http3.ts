// Keystrokes over HTTP/3: each such mode beside HTTP/2 and WebSocket, over the same network.

import { windowModeNamed } from '../../client/wire.ts'
import { isPeer, labelOf, spokenName, usualBaseline, variantOf, withoutVariant } from '../lab/mode-names.ts'
import type { Analysis, FigureRow, StudyComparison } from '../lab/study.ts'
import { formatRatio, listed, nothing, type Section, table } from '../report/section.ts'
import { ratioEnds } from '../report/study-finding.ts'
import { ratioRows, ratiosFigure } from '../report/study-report.ts'
import { formatLate, type latenessOf, networksIn } from './keystrokes-networks.ts'

/** Each mode over HTTP/3 against the same transport over HTTP/2, and against WebSocket. */
export function http3Pairs(modes: readonly string[]): readonly (readonly [string, string])[] {
  return modes.flatMap((mode) => {
    const row = windowModeNamed(withoutVariant(mode))
    if (!row?.isOverUdp) return []
    const own = modes.filter((other) => !isPeer(other) && variantOf(other) === variantOf(mode))
    const named = (name: string | null | undefined) => own.filter((other) => withoutVariant(other) === name)
    return [...named(row.fallback), ...named(usualBaseline(own.map(withoutVariant)))].map(
      (other) => [mode, other] as const,
    )
  })
}

type Compared = Pick<Analysis, 'comparisons' | 'levels'>

/** In order of the pairs. */
function comparedIn({ comparisons, levels }: Compared): readonly StudyComparison[] {
  return http3Pairs((levels.mode ?? []).map(String)).flatMap(
    ([mode, against]) => comparisons.find((one) => one.mode === mode && one.baseline === against) ?? [],
  )
}

const verdictWords = {
  lower: 'faster',
  higher: 'slower',
  alike: 'no different by what matters',
  undecided: 'undecided',
} as const

/** One sentence for each mode over HTTP/3; none without one. */
export function formatHttp3(found: Compared): readonly string[] {
  const modes = Map.groupBy(comparedIn(found), ({ mode }) => withoutVariant(mode))
  return [...modes].map(([mode, own]) => {
    const opponents = Map.groupBy(own, ({ baseline }) => withoutVariant(baseline))
    const against = [...opponents].map(([opponent, rows], place) => {
      const verdicts = Map.groupBy(rows, ({ verdict }) => verdict)
      const parts = (['lower', 'alike', 'higher', 'undecided'] as const).flatMap((verdict) => {
        const places = verdicts.get(verdict) ?? []
        return places.length === 0 ? [] : [`${verdictWords[verdict]} ${listed(places.map(placeWords))}`]
      })
      const subject =
        place === 0
          ? `Against ${spokenName(opponent)}, ${spokenName(mode)}`
          : `against ${spokenName(opponent)} it`
      return `${subject} was ${listed(parts)}`
    })
    const brackets = own.some(({ ratioCi95 }) => ratioCi95)
      ? 'the ratio of the means, with its 95 % interval'
      : 'the ratio of the means in one session'
    return `${against.join('; ')} (in brackets: ${brackets}).`
  })
}

/** `over lan+5% (0.31, 0.20 to 0.48)`. */
function placeWords({ mode, ratio, ratioCi95 }: StudyComparison): string {
  const network = variantOf(mode)
  const figures = [formatRatio(ratio, null), ...(ratioCi95 ? [ratioEnds(ratioCi95)] : [])].join(', ')
  return `${network === undefined ? '' : `over ${network} `}(${figures})`
}

/** Empty unless modes over HTTP/3 are compared. `lateness`: over each network, if there are several. */
export function http3Sections(
  found: Compared & Pick<Analysis, 'figures'>,
  lateness: ReturnType<typeof latenessOf>,
): readonly Section[] {
  const compared = comparedIn(found)
  if (compared.length === 0) return []
  const drawn = ratioRows(
    compared,
    ({ mode, baseline }) => `${labelOf(mode)} / ${labelOf(withoutVariant(baseline))}`,
  )
  const caption =
    'Mean over HTTP/3 divided by that of the other over the same network, with the 95 % interval. Left of 1 HTTP/3 took less time. Filled: decided; hollow: undecided. Small ticks: the ratio in each session.'
  const ratioOf = (mode: string, isHttp2: boolean) => {
    const one = compared.find((row) => row.mode === mode && isToHttp2(row) === isHttp2)
    return one ? formatRatio(one.ratio, one.ratioCi95) : nothing
  }
  const lateOf = (mode: string) => lateness.find((row) => row.mode === mode)?.lateShare
  const percent = (share: number | null | undefined) => (share == null ? nothing : 100 * share)
  const networks = networksIn(lateness.map(({ mode }) => mode))
  const byNetwork = Map.groupBy(found.figures.filter(isOwn), ({ mode }) => variantOf(mode))
  return [
    {
      title: 'Is HTTP/3 faster here',
      ...(drawn.length > 0 && {
        figure: ratiosFigure(drawn, {
          caption,
          axis: '← HTTP/3 faster   ratio of the means   slower →',
          references: [1],
        }),
      }),
      tables: [
        table(
          'Each network’s modes, times in milliseconds; ratios of the means with their 95 % intervals',
          columns,
          [...byNetwork.values()].flat().map(({ mode, mean, p50, p95, p99 }) => {
            const late = percent(lateOf(mode))
            return [labelOf(mode), mean, p50, p95, p99, late, ratioOf(mode, true), ratioOf(mode, false)]
          }),
        ),
      ],
      paragraphs: [
        'Every mode was reached through the same proxy, Caddy, which speaks HTTP/1.1 to the server: these times compare ways from the browser to the proxy, and each has the proxy’s own time in it.',
        'Each interval is for its comparison alone; the verdicts are corrected for the number of all comparisons of this report, so that one may be undecided whose interval excludes 1.',
        ...(networks.length === 0
          ? []
          : [
              `Late: deliveries that took ${formatLate(networks)}, from the server’s acceptance to the window.`,
            ]),
      ],
    },
  ]
}

const columns = [
  'Mode',
  'Mean',
  'Median',
  'p95',
  'p99',
  'Late, %',
  'Ratio to the same over HTTP/2',
  'Ratio to WebSocket',
] as const

const isToHttp2 = ({ mode, baseline }: StudyComparison) =>
  withoutVariant(baseline) === windowModeNamed(withoutVariant(mode))?.fallback

const isOwn = ({ mode }: FigureRow) => !isPeer(mode)
