// Shared by wind panel and overview: source, unit, speeds, faults, and how to start a sensor.

import { Fragment } from 'react'
import type { SensorSource } from '../../server/page/page-messages.ts'
import { isWindUnit } from '../../server/page/wind-units.ts'
import { type CommonProps, useView } from '../page/hooks.ts'
import { Caution, LineIcon } from '../page/Icons.tsx'
import { type Quantity, sourceWords, units } from './wind-words.ts'

export function SensorSettings({
  store,
  actions,
  source,
}: CommonProps & { readonly source: SensorSource | null }) {
  const { unit } = useView(store, (view) => view.wind.choices)
  const sentUnit = useView(store, (view) => view.wind.reading?.unit ?? null)
  const hasSensor = useView(store, (view) => view.wind.hasSensor)
  const sentName = sentUnit && units[sentUnit].name
  return (
    <>
      {source && (
        <span className="wind-source small" data-source={source}>
          {sourceWords[source]}
        </span>
      )}
      {hasSensor && (
        <label className="unit-select">
          <span className="visually-hidden">Unit of speed</span>
          {/* Repeats the select's value, shortened where there is little room. */}
          <span className="unit-shown row" aria-hidden="true">
            {unit === 'sent' ? (sentName ?? 'm/s') : units[unit].name}
            {unit === 'sent' && <span className="unit-origin">(sensor’s unit)</span>}
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
            <option value="sent">
              {sentName === null ? 'sensor’s unit' : `${sentName} (sensor’s unit)`}
            </option>
          </select>
        </label>
      )}
    </>
  )
}

interface AmountProps {
  readonly of: Omit<Quantity, 'number'> & { readonly number: string | null }
  readonly part: 'figure' | 'overview'
}

/** A dash if there is no number. */
export function Amount({ of: { number, unit, spokenUnit }, part }: AmountProps) {
  return (
    <span className={`${part}-number`}>
      {number ?? '–'}
      {number !== null && unit && (
        <>
          <span className={`${part}-unit`} aria-hidden="true">
            {' '}
            {unit}
          </span>
          <span className="visually-hidden"> {spokenUnit} </span>
        </>
      )}
    </span>
  )
}

/** Always rendered, so that a new sentence is announced. */
export function Trouble({ sentence, part }: { sentence: string | null; part: 'wind' | 'overview' }) {
  return (
    <output className={`${part}-trouble`}>
      {sentence && (
        <>
          <Caution />
          <span>{sentence}</span>
        </>
      )}
    </output>
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

export function NoSensor() {
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
