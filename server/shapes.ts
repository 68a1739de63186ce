// The library's door for checks of what clients send, as in the `body` of a channel's type.

export {
  boolean,
  type Check,
  list,
  type Misfit,
  matching,
  number,
  object,
  orNull,
  rule,
  text,
} from './channels/shapes.ts'
