// The live wind: dial, words, figures, history, source and faults.

import { memo, useLayoutEffect, useRef } from 'react'
import { type CommonProps, useNow, useView } from '../page/hooks.ts'
import { mountDial } from './dial-canvas.ts'
import { History, type HistoryProps } from './History.tsx'
import { Amount, NoSensor, SensorSettings, Trouble } from './SensorWidgets.tsx'
import { type FigureModel, figureModels, type WindModel, windModel } from './wind-view-model.ts'

/** Rerenders four times a second; announces only faults. */
export function WindPanel({ store, actions, history }: HistoryProps) {
  const wind = useView(store, (view) => view.wind)
  const isConnected = useView(store, (view) => view.outage === null)
  const now = useNow(1000, wind.receivedAt !== null)
  const model = windModel(wind, now, isConnected)
  if (!wind.hasSensor)
    return (
      <div className="wind" id="wind" tabIndex={-1}>
        <div className="wind-empty">
          <h2>Wind</h2>
          <NoSensor />
        </div>
      </div>
    )
  return (
    <div className="wind" id="wind" tabIndex={-1} data-state={model.state} data-stale={model.isStale}>
      <div className="wind-body">
        <div className="wind-head row">
          <h2>Wind</h2>
          <SensorSettings store={store} actions={actions} source={model.source} />
        </div>
        <div className="wind-now">
          <Dial store={store} />
          <Words model={model} />
        </div>
        <Figures figures={figureModels(wind.figures, model.unit, now - (wind.receivedAt ?? now))} />
        <History store={store} actions={actions} history={history} />
      </div>
    </div>
  )
}

/** Drawn outside React. Its text alternative changes every few seconds, without announcement. */
const Dial = memo(function Dial({ store }: Pick<CommonProps, 'store'>) {
  const card = useRef<HTMLCanvasElement>(null)
  const live = useRef<HTMLCanvasElement>(null)
  useLayoutEffect(
    () => (card.current && live.current ? mountDial(card.current, live.current, store) : undefined),
    [store],
  )
  return (
    <div className="dial">
      <canvas ref={card} />
      <canvas ref={live} role="img" aria-label="Wind dial" />
    </div>
  )
})

function Words({ model }: { model: WindModel }) {
  return (
    <div className="wind-words">
      <p className="wind-direction">
        {model.directionDegrees !== null && <strong>{model.directionDegrees}°</strong>} {model.directionWords}
      </p>
      <p className="wind-age">
        {model.ageWords && `${model.isStale ? 'Last reading' : 'Updated'} ${model.ageWords}`}
      </p>
      {model.asideWords && <p className="wind-aside">{model.asideWords}</p>}
      <Trouble sentence={model.trouble} part="wind" />
    </div>
  )
}

function Figures({ figures }: { figures: readonly FigureModel[] }) {
  return (
    <dl className="figures">
      {figures.map((figure) => (
        <div key={figure.label} className="figure">
          <dt className="small">
            {figure.label} <span className="figure-so-far">{figure.soFar}</span>
          </dt>
          <dd>
            <Amount of={figure} part="figure" />
            <span className="figure-beside small" aria-hidden="true">
              <span className="figure-more">{figure.besideMore}</span>
              {figure.beside}
            </span>
            <span className="visually-hidden">{figure.spokenBeside}</span>
          </dd>
        </div>
      ))}
    </dl>
  )
}
