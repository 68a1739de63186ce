// One exchange of stamps between two clocks, and what it says of the offset between them.

/** All ms since the epoch with fractions, in the order in which they were taken (RFC 5905, 8: T1 to T4). */
export interface Exchange {
  /** The question left; this side's clock. */
  readonly sentAt: number
  /** The question was there; the other side's clock. */
  readonly receivedAt: number
  /** The answer left; the other side's clock. */
  readonly answeredAt: number
  /** The answer was here; this side's clock. */
  readonly returnedAt: number
}

/** Time on the way, there and back, without what the other side took to answer. */
export function roundTripMs({ sentAt, receivedAt, answeredAt, returnedAt }: Exchange): number {
  return returnedAt - sentAt - (answeredAt - receivedAt)
}

/** The offset as it was at one moment of this side's clock. */
export interface Mark {
  readonly at: number
  readonly offsetMs: number
}

/** It was no more than this when the question left: it arrived after it had left. */
export function ceilingOf({ sentAt, receivedAt }: Exchange): Mark {
  return { at: sentAt, offsetMs: receivedAt - sentAt }
}

/** It was no less than this when the answer was here. */
export function floorOf({ answeredAt, returnedAt }: Exchange): Mark {
  return { at: returnedAt, offsetMs: answeredAt - returnedAt }
}
