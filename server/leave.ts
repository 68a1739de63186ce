// Ends a process that has nothing left to do, without the tidying of Node's own that may never end.

/**
 * For programs that had sockets, at their beginning. Node 26.10 waits on its way out until every request of every socket
 * is over (`Environment::CleanupHandles`); of one whose socket is gone it never hears, and spins: some lab runs did, with
 * their report written. Ended from here, when the event loop is empty and all is written, it does not wait.
 */
export function leaveWhenDone(): void {
  process.once('beforeExit', () => process.exit())
}
