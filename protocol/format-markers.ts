// A habit of Yjs that would make windows differ, undone on both sides.

/**
 * For `doc.on('afterTransaction', keepMarkers)`. Yjs removes format markers that look superfluous after
 * remote changes, in a local transaction that is not sent to anyone, after which windows may format
 * later text differently.
 */
export function keepMarkers(transaction: { _needFormattingCleanup: boolean }): void {
  transaction._needFormattingCleanup = false
}
