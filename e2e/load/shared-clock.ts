// One clock for all processes of this machine: latency needs the author's stamp and the receiver's on the same one.

/**
 * Ms with fractions since a moment that all processes of this machine share (CLOCK_MONOTONIC on Linux). Not
 * `performance.timeOrigin`, which each process takes from the wall clock at its own start.
 */
export function createSharedClock(): () => number {
  const originMs = Number(process.hrtime.bigint()) / 1e6 - performance.now()
  return () => originMs + performance.now()
}
