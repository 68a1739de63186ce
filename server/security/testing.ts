// For tests: what a client may do.

import { Grant, openGrant } from './grants.ts'

/** Allows everything except as `change` says. */
export function grantWith(change: Partial<ConstructorParameters<typeof Grant>[0]>): Grant {
  return new Grant({ ...openGrant, ...change })
}
