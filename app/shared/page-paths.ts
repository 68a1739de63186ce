// Paths and names that the server, the page and its service worker agree on.

export const serviceWorkerPath = '/service-worker.js'

/** The page without a document: the service worker shows it while the server does not answer. */
export const offlinePath = '/offline'

/** Caches of the documents that the page kept; the invitation's name follows. */
export const keptPagesPrefix = 'crosswind pages '

/**
 * A cookie beside the session's, for as long, that the page can read: the same for everyone with the same
 * invitation. None on an open server.
 */
export const invitationCookie = '__Host-crosswind-invitation'
