// The library's door for programs with a configuration: Crosswind's settings, and how others are declared.

export { ConfigError, checked, notAllowed } from './config/checking.ts'
export { engineShape, misfitsOfLimits } from './config/engine-settings.ts'
export {
  type ConfigKey,
  choice,
  field,
  fieldNotes,
  flagOf,
  group,
  type Immutable,
  keysOf,
  path,
  quantity,
  text,
  whole,
  wholeOrAuto,
} from './config/fields.ts'
