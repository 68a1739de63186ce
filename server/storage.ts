// The library's door for packages that bring a store for the log, such as @crosswind/postgres.

export { newEpoch, StorageUnfit } from './log/log.ts'
export type {
  KeptText,
  LogStore,
  MessageMark,
  SharedStorage,
  StoreDraft,
  StoredText,
  StoreEvents,
  StorePage,
  StoreState,
} from './log/store.ts'
export { StoreConnection } from './log/store-connection.ts'
