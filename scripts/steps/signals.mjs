// Passes what ends this process on to its child, each once.

import { isatty } from 'node:tty'

/** npm repeats the signals that it gets to its children, who may have had them already. */
const repeatMs = 500
const parentPollMs = 500

/**
 * Until the answered function is called, SIGINT, SIGHUP and SIGTERM end the child and not this process. A
 * terminal tells its whole group of processes when someone presses Ctrl-C or closes it, so there the child knows.
 */
export function forwardSignals(child, hasTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor))) {
  const forward = once((signal) => child.kill(signal))
  const listeners = {
    SIGTERM: forward,
    SIGINT: hasTerminal ? ignore : forward,
    SIGHUP: hasTerminal ? ignore : forward,
  }
  for (const [signal, listener] of Object.entries(listeners)) process.on(signal, listener)
  const stopWatching = onParentGone(() => forward('SIGTERM'))
  return () => {
    stopWatching()
    for (const [signal, listener] of Object.entries(listeners)) process.off(signal, listener)
  }
}

/** Listening at all keeps this process alive until its child has ended. */
const ignore = () => undefined

/** Forwards a signal unless the last one has only just come. */
export function once(forward, clock = () => performance.now()) {
  let lastAt = Number.NEGATIVE_INFINITY
  return (signal) => {
    const isRepeated = clock() - lastAt < repeatMs
    lastAt = clock()
    if (!isRepeated) forward(signal)
  }
}

/**
 * Between npm and this process stands a shell that passes no signals on: when npm is told to end, it ends, and
 * all that is seen here is another parent.
 */
function onParentGone(callback) {
  if (process.env.npm_lifecycle_event === undefined) return ignore
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    callback()
  }, parentPollMs)
  timer.unref()
  return () => clearInterval(timer)
}
