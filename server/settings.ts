// The library's door for a program's settings: Crosswind's own, and tools to declare others.

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
