// The overview: the server's figures for all edits and for the wind, in large numbers.

import { type CommonProps, useNow, useView } from '../page/hooks.ts'
import { unitShown } from '../store.ts'
import { Amount, NoSensor, SensorSettings, Trouble } from '../wind/SensorWidgets.tsx'
import { type OverviewFigure, overviewViewModel } from './overview-view-model.ts'
import '../styles/panels.css'

/** Rerenders once a second; announces only faults. */
export function Overview({ store, actions }: CommonProps) {
  const overview = useView(store, (view) => view.overview)
  const unit = useView(store, (view) => unitShown(view.wind))
  const hasSensor = useView(store, (view) => view.wind.hasSensor)
  const isConnected = useView(store, (view) => view.outage === null)
  const now = useNow(1000, overview !== null)
  const shown = overviewViewModel(overview, unit, now, isConnected)
  return (
    <div className="overview" id="overview" tabIndex={-1} data-stale={shown.isStale}>
      <div className="overview-head">
        <h2>Overview</h2>
        <p>{shown.origin}</p>
        <p className="overview-age">{shown.ageWords}</p>
      </div>
      <section className="overview-part" aria-labelledby="overview-writing">
        <div className="overview-part-head row">
          <h3 id="overview-writing">Document</h3>
        </div>
        <Numbers figures={shown.writing} />
        <EditBars counts={shown.editsEachSecond} />
      </section>
      <section className="overview-part" aria-labelledby="overview-wind" data-stale={shown.isWindStale}>
        <div className="overview-part-head row">
          <h3 id="overview-wind">Wind</h3>
          <SensorSettings store={store} actions={actions} source={shown.source} />
        </div>
        {hasSensor ? <Numbers figures={shown.wind} /> : <NoSensor />}
        <Trouble sentence={hasSensor ? shown.trouble : null} part="overview" />
      </section>
    </div>
  )
}

function Numbers({ figures }: { figures: readonly OverviewFigure[] }) {
  return (
    <dl className="overview-figures">
      {figures.map((figure) => (
        <div key={figure.label} className="overview-figure">
          <dt>{figure.label}</dt>
          <dd>
            <Amount of={figure} part="overview" />
            <span className="overview-beside">{figure.beside}</span>
          </dd>
        </div>
      ))}
    </dl>
  )
}

const barsHeight = 24
/** Keeps the bar of a single edit small. */
const leastTop = 8

/**
 * Edits in each of the last 60 seconds, oldest first, or none yet. Decorative: the number above is
 * read out.
 */
function EditBars({ counts }: { counts: readonly number[] }) {
  const top = Math.max(leastTop, ...counts)
  const bars = counts.map((count, second) => {
    const high = ((count / top) * barsHeight).toFixed(2)
    return count === 0 ? '' : `M${second + 0.15} ${barsHeight}v-${high}h.7v${high}z`
  })
  return (
    <div className="edit-bars" aria-hidden="true">
      <svg viewBox={`0 0 60 ${barsHeight}`} preserveAspectRatio="none" aria-hidden="true">
        <path d={bars.join('')} />
      </svg>
      <p className="small">
        <span>a minute ago</span>
        <span>edits per second</span>
        <span>now</span>
      </p>
    </div>
  )
}
