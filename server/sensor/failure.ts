// The one error of the sensor command.

/** What was asked for could not be done. The message is one sentence for people, without a stack in mind. */
export class SensorFailure extends Error {
  override name = 'SensorFailure'
}
