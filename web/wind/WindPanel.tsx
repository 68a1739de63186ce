// The live wind: dial, words, figures and history, where the readings come from, and what is wrong with them.

import type { WindHistory } from '../../server/wire/wind/history.ts'
import type { Actions } from '../page/actions.ts'
import { Caution } from '../page/Icons.tsx'
import { useNow } from '../page/use-now.ts'
import { useView } from '../page/use-view.ts'
import type { Store } from '../store/store.ts'
import { Dial } from './dial/Dial.tsx'
import { Figures } from './Figures.tsx'
import { figureWords } from './figure-words.ts'
import { History } from './history/History.tsx'
import { UnitSelect } from './UnitSelect.tsx'
import { type WindFace, windFace } from './wind-face.ts'
import { sourceWords } from './words/source.ts'

interface WindPanelProps {
  readonly store: Store
  readonly actions: Actions
  readonly history: Pick<WindHistory, 'since'>
}

/** Its words render four times a second, alone; nothing in it is announced but what is wrong. */
export function WindPanel({ store, actions, history }: WindPanelProps) {
  const wind = useView(store, (view) => view.wind)
  const now = useNow(1000, wind.receivedAt !== null)
  const face = windFace(wind, now)
  const ageMs = wind.receivedAt === null ? 0 : now - wind.receivedAt
  return (
    <div className="wind" id="wind" tabIndex={-1} data-state={face.state} data-stale={face.isStale}>
      <div className="wind-body">
        <div className="wind-head">
          <h2>Wind</h2>
          {face.source && (
            <span className="wind-source" data-source={face.source}>
              {sourceWords[face.source]}
            </span>
          )}
          <UnitSelect unit={wind.choices.unit} onChoose={(unit) => actions.chooseWind({ unit })} />
        </div>
        <div className="wind-now">
          <Dial store={store} />
          <Words face={face} />
        </div>
        <Figures figures={figureWords(wind.figures, face.unit, ageMs)} />
        <History store={store} actions={actions} history={history} />
      </div>
    </div>
  )
}

function Words({ face }: { face: WindFace }) {
  return (
    <div className="wind-words">
      <p className="wind-direction">
        {face.directionDegrees !== null && <strong>{face.directionDegrees}°</strong>} {face.directionWords}
      </p>
      <p className="wind-age">
        {face.ageWords && `${face.isStale ? 'Last reading' : 'Updated'} ${face.ageWords}`}
      </p>
      {face.asideWords && <p className="wind-aside">{face.asideWords}</p>}
      <output className="wind-trouble">
        {face.trouble && (
          <>
            <Caution />
            <span>{face.trouble}</span>
          </>
        )}
      </output>
    </div>
  )
}
