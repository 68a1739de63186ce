// The overview: what the server works out of everybody's edits and of the wind, in large numbers.

import type { Actions } from '../page/actions.ts'
import { Caution } from '../page/Icons.tsx'
import { useNow } from '../page/use-now.ts'
import { useView } from '../page/use-view.ts'
import type { Store } from '../store/store.ts'
import { unitShown } from '../wind/choices.ts'
import { UnitSelect } from '../wind/UnitSelect.tsx'
import { sourceWords } from '../wind/words/source.ts'
import { EditBars } from './EditBars.tsx'
import { overviewFace } from './overview-face.ts'
import type { OverviewFigure } from './overview-figures.ts'

interface OverviewProps {
  readonly store: Store
  readonly actions: Actions
}

/** Renders once a second; nothing in it is announced but what is wrong. */
export function Overview({ store, actions }: OverviewProps) {
  const overview = useView(store, (view) => view.overview)
  const choice = useView(store, (view) => view.wind.choices.unit)
  const sentUnit = useView(store, (view) => view.wind.reading?.unit ?? null)
  const now = useNow(1000, overview !== null)
  const face = overviewFace(overview, unitShown(choice, sentUnit), now)
  return (
    <div className="overview" id="overview" tabIndex={-1} data-stale={face.isStale}>
      <div className="overview-head">
        <h2>Overview</h2>
        <p>{face.origin}</p>
        <p className="overview-age">{face.ageWords}</p>
      </div>
      <section className="overview-part" aria-labelledby="overview-writing">
        <div className="overview-part-head">
          <h3 id="overview-writing">Document</h3>
        </div>
        <Numbers figures={face.writing} />
        <EditBars counts={face.editsEachSecond} />
      </section>
      <section className="overview-part" aria-labelledby="overview-wind" data-stale={face.isWindStale}>
        <div className="overview-part-head">
          <h3 id="overview-wind">Wind</h3>
          {face.source && (
            <span className="wind-source" data-source={face.source}>
              {sourceWords[face.source]}
            </span>
          )}
          <UnitSelect unit={choice} onChoose={(unit) => actions.chooseWind({ unit })} />
        </div>
        <Numbers figures={face.wind} />
        <Trouble sentence={face.trouble} />
      </section>
    </div>
  )
}

/** Each keeps its place whatever its number is. */
function Numbers({ figures }: { figures: readonly OverviewFigure[] }) {
  return (
    <dl className="overview-figures">
      {figures.map(({ name, label, number, unit, spokenUnit, beside }) => (
        <div key={name} className="overview-figure">
          <dt>{label}</dt>
          <dd>
            <span className="overview-number">
              {number ?? '–'}
              {number !== null && unit && (
                <>
                  <span className="overview-unit" aria-hidden="true">
                    {' '}
                    {unit}
                  </span>
                  <span className="visually-hidden"> {spokenUnit} </span>
                </>
              )}
            </span>
            <span className="overview-beside">{beside}</span>
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** There from the start, so that what comes into it is announced. */
function Trouble({ sentence }: { sentence: string | null }) {
  return (
    <output className="overview-trouble">
      {sentence && (
        <>
          <Caution />
          <span>{sentence}</span>
        </>
      )}
    </output>
  )
}
