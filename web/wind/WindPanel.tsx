// The live wind: dial, speed, direction, age, where the readings come from, and the sensor's trouble.

import type { SensorSource } from '../../server/wire/reading.ts'
import { Caution } from '../page/Icons.tsx'
import { useNow } from '../page/use-now.ts'
import { useView } from '../page/use-view.ts'
import type { Store } from '../store/store.ts'
import { Dial } from './Dial.tsx'
import type { Quantity } from './speed.ts'
import { type WindFace, windFace } from './wind-face.ts'

const sourceWords: Readonly<Record<SensorSource, string>> = {
  simulated: 'Simulated',
  recorded: 'Recorded',
  serial: 'WindSonic',
}

/** Renders four times a second, alone; nothing in it is announced but the sensor's trouble. */
export function WindPanel({ store }: { store: Store }) {
  const wind = useView(store, (view) => view.wind)
  const now = useNow(1000, wind.receivedAt !== null)
  const face = windFace(wind, now)
  return (
    <div className="wind" data-state={face.state} data-stale={face.isStale}>
      <div className="wind-head">
        <h2>Wind</h2>
        {face.source && (
          <span className="wind-source" data-source={face.source}>
            {sourceWords[face.source]}
          </span>
        )}
      </div>
      <Dial directionDegrees={face.directionDegrees}>
        <Speed face={face} />
      </Dial>
      <div className="wind-words">
        <p className="wind-direction">
          {face.directionDegrees !== null && <strong>{face.directionDegrees}°</strong>} {face.directionWords}
        </p>
        {face.ageWords && (
          <p className="wind-age">
            {face.isStale ? 'Last reading' : 'Updated'} {face.ageWords}
          </p>
        )}
        <output className="wind-trouble">
          {face.trouble && (
            <>
              <Caution />
              <span>{face.trouble}</span>
            </>
          )}
        </output>
      </div>
    </div>
  )
}

function Speed({ face: { word, speed, speedBeside } }: { face: WindFace }) {
  if (word) {
    return (
      <>
        <strong className="speed-word">{word}</strong>
        {speed && <Amount quantity={speed} className="speed-small" />}
      </>
    )
  }
  return (
    <>
      {speed && <Amount quantity={speed} className="speed-large" />}
      {speedBeside && <Amount quantity={speedBeside} className="speed-small" />}
    </>
  )
}

function Amount({ quantity, className }: { quantity: Quantity; className: string }) {
  return (
    <p className={className} data-digits={quantity.number.length}>
      <span className="speed-number">{quantity.number}</span>{' '}
      <span className="speed-unit" aria-hidden="true">
        {quantity.unit}
      </span>
      <span className="visually-hidden">{quantity.spokenUnit}</span>
    </p>
  )
}
