// The live wind: speed, words, dial, figures, history, source and faults.

import { Fragment, memo, useLayoutEffect, useRef } from 'react'
import type { SensorSource } from '../../app/shared/page-messages.ts'
import { isWindUnit } from '../../sensor/wind-units.ts'
import { type CommonProps, useNow, useView } from '../page/hooks.ts'
import { Caution, LineIcon } from '../page/Icons.tsx'
import { mountDial } from './dial-canvas.ts'
import { History, type HistoryProps } from './History.tsx'
import { type FigureModel, figuresModel, type WindModel, windModel } from './wind-view-model.ts'
import { sourceWords, units } from './wind-words.ts'

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
          <Words model={model} />
          <Dial store={store} history={history} />
        </div>
        <Figures figures={figuresModel(wind.figures, model.unit, now - (wind.receivedAt ?? now))} />
        <History store={store} actions={actions} history={history} />
      </div>
    </div>
  )
}

function SensorSettings({ store, actions, source }: CommonProps & { readonly source: SensorSource | null }) {
  const { unit } = useView(store, (view) => view.wind.choices)
  const sentUnit = useView(store, (view) => view.wind.reading?.unit ?? null)
  const sentName = sentUnit && units[sentUnit].name
  return (
    <>
      {source && (
        <span className="wind-source small" data-source={source}>
          {sourceWords[source]}
        </span>
      )}
      <label className="unit-select">
        <span className="visually-hidden">Unit of speed</span>
        {/* Repeats the select's value, shortened. */}
        <span className="unit-shown row" aria-hidden="true">
          {unit === 'sent' ? (sentName ?? 'm/s') : units[unit].name}
          <LineIcon name="chevron" />
        </span>
        <select
          value={unit}
          onChange={({ target: { value } }) => {
            if (value === 'sent' || isWindUnit(value)) actions.chooseWind({ unit: value })
          }}
        >
          {Object.entries(units).map(([choice, { name }]) => (
            <option key={choice} value={choice}>
              {name}
            </option>
          ))}
          <option value="sent">As measured{sentName && ` (${sentName})`}</option>
        </select>
      </label>
    </>
  )
}

/** Drawn outside React. Its text alternative changes every few seconds, without announcement. */
const Dial = memo(function Dial({ store, history }: Pick<HistoryProps, 'store' | 'history'>) {
  const card = useRef<HTMLCanvasElement>(null)
  const live = useRef<HTMLCanvasElement>(null)
  useLayoutEffect(
    () => (card.current && live.current ? mountDial(card.current, live.current, store, history) : undefined),
    [store, history],
  )
  return (
    <div className="dial">
      <canvas ref={card} />
      <canvas ref={live} role="img" aria-label="Wind dial" />
    </div>
  )
})

/** Each line keeps its room when it is empty. */
function Words({ model }: { model: WindModel }) {
  const { word, speed, isMean, ageWords, force, forceOf } = model
  return (
    <div className="wind-words">
      <p className="wind-speed">
        <span className="wind-number">{word ?? speed?.number ?? '–'}</span>
        {word === null && speed && (
          <span className="wind-unit">
            <span aria-hidden="true">{speed.unit}</span>
            <span className="visually-hidden"> {speed.spokenUnit} </span>
            <span className="wind-of small">{isMean ? '3 s mean' : '\u00a0'}</span>
          </span>
        )}
      </p>
      <p className="wind-force">
        {ageWords && `Last reading ${ageWords}`}
        {force && (
          <>
            <strong>{force.name}</strong>{' '}
            <span className="small">
              Beaufort {force.force}
              <span className="wind-over">, {forceOf}</span>
            </span>
          </>
        )}
      </p>
      <p className="wind-direction">{model.directionWords}</p>
      {model.asideWords && <p className="wind-aside">{model.asideWords}</p>}
      <Trouble sentence={model.trouble} />
    </div>
  )
}

/** Always rendered, so that a new sentence is announced. */
function Trouble({ sentence }: { sentence: string | null }) {
  return (
    <output className="wind-trouble">
      {sentence && (
        <>
          <Caution />
          <span>{sentence}</span>
        </>
      )}
    </output>
  )
}

function Figures({ figures: { label, soFar, row } }: { figures: ReturnType<typeof figuresModel> }) {
  return (
    <div className="figures">
      <p className="small">
        {label}
        <span className="figure-so-far">{soFar}</span>
      </p>
      <dl>
        {row.map((figure) => (
          <Figure key={figure.label} of={figure} />
        ))}
      </dl>
    </div>
  )
}

/** A dash if there is no number. */
function Figure({ of: { label, number, unit, spokenUnit } }: { of: FigureModel }) {
  return (
    <div className="figure">
      <dt className="small">{label}</dt>
      <dd>
        {number ?? '–'}
        {number !== null && unit && (
          <>
            <span className="figure-unit" aria-hidden="true">
              {' '}
              {unit}
            </span>
            <span className="visually-hidden"> {spokenUnit} </span>
          </>
        )}
      </dd>
    </div>
  )
}

/** Keeps a flag and its value on one line. */
function Command({ line }: { line: string }) {
  return (
    <code>
      {line.split(/ (?=--\w)/).map((piece, index) => (
        <Fragment key={piece}>
          {index > 0 && ' '}
          <span>{piece}</span>
        </Fragment>
      ))}
    </code>
  )
}

function NoSensor() {
  return (
    <div className="no-sensor">
      <div className="no-sensor-head row">
        <LineIcon name="wind" />
        <p>
          <strong>There is no wind sensor.</strong> The server was started without one. Restart it with one of
          these commands, and this window will show the wind without a reload.
        </p>
      </div>
      <dl>
        <div>
          <dt>A simulated wind</dt>
          <dd>
            <Command line="npm start -- --sensor-source simulated" />
          </dd>
        </div>
        <div>
          <dt>A WindSonic on a serial port</dt>
          <dd>
            <Command line="npm run sensor -- --list" /> lists the ports, then
            <Command line="npm start -- --sensor-source serial --sensor-path PORT" />
          </dd>
        </div>
        <div>
          <dt>A recorded WindSonic log</dt>
          <dd>
            <Command line="npm start -- --sensor-source recorded --sensor-file FILE" />
          </dd>
        </div>
      </dl>
    </div>
  )
}
