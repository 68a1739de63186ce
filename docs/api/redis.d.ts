// The types of @crosswind/redis, written by `npm run api`.

declare function redis(options: RedisOptions): SharedStorage;
declare namespace index_d_exports {
  export { RedisOptions, redis };
}
export { index_d_exports as "." };
interface KeptText {
  readonly name: string;
  readonly text: string;
}
interface LogFigures {
  readonly bytes?: Counts;
  readonly brokerHead?: Counts;
  readonly reconnects?: Counts;
  readonly queued?: Counts;
}
interface LogStore {
  readonly open: () => Promise<void>;
  readonly read: (after: number) => Promise<StorePage | null>;
  readonly append: (drafts: readonly StoreDraft[], known: StoreState) => Promise<readonly number[] | null>;
  readonly endEpoch: (epoch: string, next: string) => Promise<void>;
  readonly purge: (channel: string, before: number) => Promise<void>;
  readonly kept: () => Promise<readonly KeptText[]>;
  readonly keep: (kept: KeptText & {
    readonly seq: number;
  }) => Promise<void>;
  readonly forget: (name: string) => Promise<void>;
  readonly post: (note: string) => void;
  readonly figures: () => Promise<LogFigures>;
  readonly close: () => Promise<void>;
}
interface MessageMark {
  readonly key: string;
  readonly acceptedAt: number;
}
interface RedisOptions {
  readonly url: string | readonly string[];
  readonly prefix?: string;
}
interface SharedStorage {
  readonly kind: 'shared';
  readonly name: string;
  readonly place: string;
  readonly connect: (events: StoreEvents) => LogStore;
}
interface StoreDraft extends MessageMark {
  readonly channel: string;
  readonly text: string;
  readonly erased: number | null;
}
interface StoreEvents {
  readonly onAppended: () => void;
  readonly onNote: (note: string) => void;
  readonly onReturned: () => void;
}
interface StorePage extends StoreState {
  readonly last: MessageMark | null;
  readonly messages: readonly StoredText[];
}
interface StoreState {
  readonly epoch: string;
  readonly head: number;
}
interface StoredText {
  readonly seq: number;
  readonly text: string;
}
type Counts = Readonly<Record<string, number>>;
