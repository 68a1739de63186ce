// The one error of the configuration.

/** A value, key, flag or file that cannot be used. The message is one sentence for people, without a stack in mind. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}
