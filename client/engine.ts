// What this repository's page and lab build on; it may change with every version.

export { type DocumentDrafts, documentPolicy, mergingPolicy } from './document-policy.ts'
export { type DraftDatabase, openDraftDatabase, type UnstoredDraft } from './draft-database.ts'
export { DraftKeeper } from './draft-keeper.ts'
export { DraftStore } from './draft-store.ts'
export type { Fall } from './fallback.ts'
export { Link, type LinkListener, type LinkOptions, type LinkState } from './link.ts'
export { type Drafts, Outbox, type OutboxListener, type OutboxOptions, type OutboxState } from './outbox.ts'
export type { Follower, Following } from './room.ts'
