// Turns what a source says into messages on the wind's channel.

import { sensorName } from '../hub/admission.ts'
import type { Hub } from '../hub/hub.ts'
import type { Bodies } from '../wire/envelope.ts'
import type { Publish } from './source.ts'

export const windChannel = 'wind'

/** `run` names this run of the server: the log remembers the ids of the last one. */
export function publishReadings(hub: Pick<Hub, 'publish'>, run: string): Publish {
  let count = 0
  function publish<K extends 'reading' | 'sensor'>(kind: K, body: Bodies[K], at: number): void {
    count += 1
    const draft = {
      id: `${sensorName}-${run}-${count}`,
      channel: windChannel,
      kind,
      from: sensorName,
      at,
      body,
    }
    hub.publish(draft).catch((error) => console.error(`Reading ${draft.id} could not be stored:`, error))
  }
  return {
    reading: (body, at) => publish('reading', body, at),
    sensor: (body, at) => publish('sensor', body, at),
  }
}
