// The types of @crosswind/client, written by `npm run api`.

declare abstract class Shared<Snapshot extends Failing> {
  #private;
  protected readonly offs: Off[];
  constructor(initial: Snapshot);
  get snapshot(): Snapshot;
  get isWatched(): boolean;
  watch(listener: (snapshot: Snapshot) => void): Off;
  start(connect: () => Opened, timers: Pick<Timers, 'later'>): void;
  end(): void;
  protected change(part: Partial<Snapshot>): void;
  protected abstract begin(connection: Opened): void;
  protected fail(error: ClientError): void;
}
declare class BusyError extends Error {
  readonly retryAfterMs: number;
  constructor(sentence: string, retryAfterMs: number);
}
declare class Channels {
  #private;
  constructor(url: string | URL, options: OverOptions);
  get state(): ConnectionState;
  follow(name: string, follower: Follower): ChannelHandle;
  protected followerOf(name: string): Follower | undefined;
  on<Event extends keyof ConnectionEvents>(event: Event, listener: ConnectionEvents[Event]): Off;
  retry(): Promise<void>;
  switch(name: string): void;
  close(): void;
}
declare class Connection {
  #private;
  readonly mode: LinkMode;
  readonly opening: Watched;
  constructor(transport: WebTransport, opening: Watched, timers: Timers);
  get uplink(): Omit<OpenTransport, 'close'>;
  get livedMs(): number | null;
  isStale(): boolean;
  get overdueMs(): number;
  abandon(code: Closing['code'], sentence: string): void;
  leave(isForGood?: boolean): void;
}
declare class Crosswind<Declared = unknown> extends Channels {
  #private;
  channel<Name extends DeclaredName<Declared>>(name: Name, place?: Place): Room<DataOf<Declared, Name>, SentOf<Declared, Name>, StateOf<Declared, Name>, OwnStateOf<Declared, Name>>;
  channel<Data>(name: AnyName<Declared, Data>, place?: Place): Room<Data>;
  subscribe<Name extends DeclaredName<Declared>>(name: Name, subscriber: Subscriber<DataOf<Declared, Name>>): Off;
  subscribe<Data>(name: AnyName<Declared, Data>, subscriber: Subscriber<Data>): Off;
  open(name: string, from?: string): OpenChannel;
}
declare class CrosswindProvider {
  #private;
  readonly doc: Y.Doc;
  readonly awareness: Awareness;
  readonly url: string;
  readonly roomname: string;
  shouldConnect: boolean;
  constructor(url: string | URL, roomname: string, doc: Y.Doc, options?: ProviderOptions);
  get synced(): boolean;
  get refused(): RefusedError | null;
  get mayWrite(): boolean | null;
  get unsaved(): number;
  get saveState(): SaveState;
  get saved(): boolean;
  whenSaved(): Promise<void>;
  get users(): ReadonlyMap<number, string>;
  get senders(): ReadonlyMap<number, string>;
  connect(): void;
  disconnect(): void;
  destroy(): void;
  discard(): void;
  on<Event extends EventName>(event: Event, listener: Listener<Event>): void;
  once<Event extends EventName>(event: Event, listener: Listener<Event>): void;
  off<Event extends EventName>(event: Event, listener: Listener<Event>): void;
}
declare class DraftKeeper implements OutboxKeeper {
  #private;
  readonly shared: SharedDrafts | undefined;
  constructor(outbox: Outbox, parts: DraftKeeperParts);
  get state(): {
    persisted: number;
    canPersist: boolean;
  };
  adopt(left: readonly UnstoredDraft[], isFirst?: boolean): void;
  changed(isConnected: boolean): void;
  connected(): void;
  flush(): void;
  close(): void;
}
declare class DraftStore {
  #private;
  onGone: () => void;
  constructor(parts: DraftStoreParts);
  write(added: readonly UnstoredDraft[], removed: readonly string[]): Promise<boolean>;
  look(): Promise<void>;
  close(): Promise<void>;
}
declare class Http {
  #private;
  constructor(base: string, signal: AbortSignal, timeoutMs: number, { send }?: {
    readonly send: Send;
  });
  get<Answer>(path: string): Promise<{
    readonly answer: Answer;
    readonly receivedAt: number;
  }>;
  post<Answer>(path: string, content?: object): Promise<Answer | null>;
}
declare class HttpError extends Error {
  readonly name = "HttpError";
  readonly status: number;
  readonly code: string;
  readonly retryAfterMs: number | null;
  constructor({ status, text }: Pick<Reply, 'status' | 'text'>);
}
declare class Lag {
  #private;
  welcomed(at: number, receivedAt: number): void;
  heartbeat(at: number, receivedAt: number): void;
  message(acceptedAt: number, receivedAt: number): void;
  forget(): void;
  ms(now: number, { offsetMs, boundMs }: ClockReading, overdueMs: number): number | null;
}
declare class Link implements Sleeper {
  #private;
  readonly outbox: Outbox;
  constructor(options: LinkOptions, listener: LinkListener);
  open(cursor?: string | null): void;
  get cursor(): string | null;
  publish<K extends Kind>(channel: string, kind: K, body: Bodies[K]): Draft<K> | null;
  get channels(): readonly string[];
  get window(): string;
  send(draft: Draft): Promise<Stored> | null;
  read(channels: readonly string[], isAnew?: boolean): void;
  setAwareness(report: AwarenessReport): void;
  switchMode(next: LinkMode): void;
  rest(): void;
  wake(by: WakeUp): void;
  offline(): void;
  hide(): void;
  close(): void;
  protected planProbe(): number | null;
}
declare class LinkClock {
  #private;
  readonly lag: Lag;
  constructor(timers: Timers, random: Random, onChange: () => void, platform?: Pick<Platform, 'send'>);
  get reading(): ClockReading | null;
  get behindMs(): number | null;
  whenDue(message: Message, receivedAt: number): number;
  askOver(connection: Asked | null, at?: number, receivedAt?: number): void;
  rest(): void;
  wake(isVisible: boolean): void;
  take({ sent, received, at }: ClockAnswer, returnedAt: number): void;
}
declare class Outbox {
  #private;
  readonly listeners: Set<OutboxListener>;
  readonly paused: Set<string>;
  policy: OutboxPolicy;
  keeper: OutboxKeeper | null;
  others: readonly PendingDraft[];
  user: string | null | undefined;
  constructor(options: OutboxOptions, policy: OutboxPolicy, listener: OutboxListener);
  get state(): OutboxState;
  get drafts(): Drafts;
  has(id: string): boolean;
  publish<K extends Kind>(channel: string, kind: K, body: Bodies[K], later?: readonly PendingDraft[]): Draft<K> | null;
  change({ tell, ...drafts }: Change): void;
  isOthers({ user }: Pick<PendingDraft, 'user'>): boolean;
  connect(send: OpenTransport['send'], maxInFlight: number, onBroken: (error: unknown) => void, user?: string | null): void;
  disconnect(): void;
  flush(): void;
  leave(): readonly Draft[];
  refuse(error: RefusedError, channel?: string): void;
  withdraw(isMeant: (draft: Draft) => boolean, orSent?: boolean): void;
  close(): readonly Draft[];
  complete(pending: PendingDraft): Draft;
  report(): void;
}
declare class RefusedError extends Error {
  readonly name = "RefusedError";
  readonly code: RefusedCode;
  constructor(code: string, sentence: string);
}
declare class Stores<Declared = unknown> {
  #private;
  readonly connection: ConnectionStore;
  constructor(connect: () => Crosswind<Declared>, { timers }?: {
    readonly timers?: Pick<Timers, 'later'>;
  });
  channel<Name extends DeclaredName<Declared>>(name: Name, options?: ChannelOptions<DataOf<Declared, Name>>): ChannelStore<DataOf<Declared, Name>, SentOf<Declared, Name>>;
  channel<Data>(name: AnyName<Declared, Data>, options?: ChannelOptions<Data>): ChannelStore<Data>;
  presence<Name extends DeclaredName<Declared>>(name: Name): PresenceStore<StateOf<Declared, Name>, OwnStateOf<Declared, Name>>;
  presence<State>(name: AnyName<Declared, State>): PresenceStore<State>;
  onVolatile<Name extends DeclaredName<Declared>>(name: Name, listener: (message: VolatileMessage<DataOf<Declared, Name>>) => void): Off;
  onVolatile<Data>(name: AnyName<Declared, Data>, listener: (message: VolatileMessage<Data>) => void): Off;
  share<Snapshot extends Failing>(key: unknown, initial: Snapshot, make: () => Shared<Snapshot>): Store<Snapshot>;
  hold(): Off;
}
declare const browser: Platform;
declare const browserTimers: Timers;
declare const byeCodes: {
  readonly draining: 1012;
  readonly failed: 1011;
  readonly overflow: 4001;
  readonly silent: 4002;
  readonly expired: 4003;
  readonly replaced: 4004;
};
declare const connections: {
  readonly '3': {
    readonly alpn: 'h3';
    readonly isShared: true;
  };
  readonly '2': {
    readonly alpn: 'h2';
    readonly isShared: true;
  };
  readonly '1.1': {
    readonly alpn: 'http/1.1';
    readonly isShared: false;
  };
};
declare const httpVersions: readonly ['2', '1.1'];
declare const longPolling: ChosenTransport;
declare const modes: readonly Mode[];
declare const newKey: () => string;
declare const overAll: (options: ConnectOptions) => OverOptions;
declare const plainPolicy: ({ messages, bytes }?: Bounds) => OutboxPolicy;
declare const polling: ChosenTransport;
declare const programs: Platform;
declare const programsOver: (request: Fetch) => Platform;
declare const shareHere: (share: Share) => Share;
declare const shareNames: readonly ['auto', 'browser', 'none'];
declare const sse: ChosenTransport;
declare const statuses: {
  readonly 'not-json': 400;
  readonly 'bad-shape': 400;
  readonly 'bad-update': 400;
  readonly 'bad-query': 400;
  readonly 'bad-channel': 400;
  readonly 'bad-frame': 400;
  readonly 'bad-request': 400;
  readonly aborted: 400;
  readonly 'no-session': 401;
  readonly 'session-expired': 401;
  readonly 'other-user': 401;
  readonly 'invitation-invalid': 401;
  readonly 'invitation-expired': 401;
  readonly 'foreign-host': 403;
  readonly 'foreign-origin': 403;
  readonly 'not-your-name': 403;
  readonly 'reserved-name': 403;
  readonly 'not-invited-there': 403;
  readonly 'read-only-invitation': 403;
  readonly 'not-your-client': 403;
  readonly 'not-your-message': 403;
  readonly 'read-only-channel': 403;
  readonly 'too-many-channels': 403;
  readonly declined: 403;
  readonly 'not-found': 404;
  readonly 'wrong-method': 405;
  readonly 'not-acceptable': 406;
  readonly 'too-slow': 408;
  readonly silent: 408;
  readonly 'open-access': 409;
  readonly 'other-session': 409;
  readonly 'no-stream': 409;
  readonly 'id-taken': 409;
  readonly 'shared-document': 409;
  readonly 'update-gap': 409;
  readonly 'history-erased': 410;
  readonly 'document-deleted': 410;
  readonly 'document-changed': 412;
  readonly 'too-large': 413;
  readonly 'document-full': 413;
  readonly 'wrong-type': 415;
  readonly 'too-costly': 422;
  readonly 'upgrade-required': 426;
  readonly 'too-fast': 429;
  readonly 'headers-too-large': 431;
  readonly internal: 500;
  readonly draining: 503;
  readonly 'too-many-windows': 503;
  readonly 'too-many-connections': 503;
  readonly 'too-much-begun': 503;
  readonly 'application-failed': 503;
  readonly 'log-unavailable': 503;
  readonly 'log-full': 503;
};
declare const streaming: ChosenTransport;
declare const transportNames: readonly ['sse', 'websocket', 'long-polling', 'polling', 'streaming'];
declare const transportsByName: Readonly<Record<TransportName, ChosenTransport>>;
declare const websocket: ChosenTransport;
declare const windowHttpVersions: readonly ['3', '2', '1.1'];
declare const windowModes: readonly WindowMode[];
declare function ageOf(at: number, { clock }: {
  readonly clock: ClockReading | null;
}, nowMs?: number): number | null;
declare function asClosing(error: unknown): Closing;
declare function askClock({ base, query, onFrame }: Pick<Opening, 'base' | 'query' | 'onFrame'>, platform?: {
  readonly send: Send;
}): void;
declare function combine(before: ClockReading, after: ClockReading): ClockReading;
declare function connect$1(url: string | URL, options?: ConnectOptions): Channels;
declare function connect<Declared = unknown>(url: string | URL, options?: ConnectOptions): Crosswind<Declared>;
declare function connectOver$1(url: string | URL, options: OverOptions): Channels;
declare function connectOver<Declared = unknown>(url: string | URL, options: OverOptions): Crosswind<Declared>;
declare function createClockEstimate(settings?: ClockEstimateSettings): {
  take(exchange: Exchange): boolean;
  at(localNow: number): {
    offsetMs: number;
    boundMs: number;
    driftPpm: number;
    exchanges: number;
  } | null;
  forget: () => undefined;
};
declare function createSeededRandom(seed: number): Random;
declare function criticalT(p: number, degreesOfFreedom: number): number;
declare function debug(sections: string, write?: (line: string) => void): typeof Link;
declare function differenceOfMeans(difference: number, { standardError, degreesOfFreedom }: MeanError, level: number): {
  difference: number;
  interval: Interval;
  t: number;
  degreesOfFreedom: number;
  p: number;
};
declare function documentPolicy(options: DocumentPolicyOptions): OutboxPolicy;
declare function documentStore<Declared>(stores: Stores<Declared>, name: string): Store<DocumentSnapshot>;
declare function drawNormal(random: Random): number;
declare function fingerprintOf(key: string): Promise<string>;
declare function holm(probabilities: readonly number[]): readonly number[];
declare function intervalAround(centre: number, { standardError, degreesOfFreedom }: MeanError, level: number): Interval;
declare function isKind<K extends Kind>(message: Message, kind: K): message is Message<K>;
declare function keptDrafts({ user, onRefused }: DraftsOptions): Keeping;
declare function lackingTransports(): Partial<Record<TransportName, string>>;
declare function limitToSlots(real: Transports, locks?: Pick<LockManager, 'request'> | null): Transports;
declare function limitedStreams({ key, over }: Sharing): Sharing;
declare function mean(values: readonly number[]): number;
declare function meanOfClusters(values: readonly number[], level?: number): {
  difference: number;
  interval: Interval;
  t: number;
  degreesOfFreedom: number;
  p: number;
};
declare function meanOfRatios(ratios: readonly number[], level?: number): {
  ratio: number;
  interval: readonly [number, number];
  p: number;
};
declare function mergeUpdates(updates: readonly UpdateBody[]): UpdateBody;
declare function mergingPolicy(policy: OutboxPolicy, merging: Merging): OutboxPolicy;
declare function modeFor(transport: string, http: string): WindowMode | undefined;
declare function modeNamed(name: string): Mode | undefined;
declare function newName(prefix: string): string;
declare function now(): number;
declare function openDraftDatabase(factory: () => IDBFactory, name?: string): DraftDatabase;
declare function openEventsBy(follow: Follow): Platform['openEvents'];
declare function parseCursor(text: string | null | undefined): Cursor | null;
declare function roundTripMs({ sentAt, receivedAt, answeredAt, returnedAt }: Exchange): number;
declare function sharedConnection({ user, worker, share }: SharingOptions): Sharing;
declare function shuffled<Value>(values: readonly Value[], random: Random): Value[];
declare function standardDeviation(values: readonly number[]): number;
declare function transportsOver(platform: Platform | undefined, transports: readonly WebTransport[]): Transports;
declare function twoSidedP(t: number, degreesOfFreedom: number): number;
declare function whenDue({ acceptedAt }: Pick<Message, 'acceptedAt'>, receivedAt: number, offsetMs?: number): number;
declare function windowModeNamed(name: string): WindowMode | undefined;
declare namespace clock_d_exports {
  export { LinkClock, ageOf, whenDue };
}
declare namespace connect_d_exports {
  export { ChannelHandle, Channels, ConnectOptions, ConnectionState, Crosswind, Earlier, EarlierPage, FallbackReason, Follower, Keeping, OpenChannel, OverOptions, Page, Past, Place, Presence, RefusedCode, RefusedError, Room, RoomChange, RoomMessage, Sharing, Subscriber, VolatileMessage, connect, connectOver, longPolling, overAll, polling, programs, programsOver, sse, streaming, websocket };
}
declare namespace debug_d_exports {
  export { debug };
}
declare namespace document_store_d_exports {
  export { DocumentSnapshot, documentStore };
}
declare namespace drafts_d_exports {
  export { DraftDatabase, DraftKeeper, DraftStore, DraftsOptions, LeftMessage, Outbox, OutboxListener, OutboxOptions, OutboxPolicy, OutboxState, SharedDrafts, UnstoredDraft, documentPolicy, keptDrafts, mergingPolicy, openDraftDatabase, plainPolicy };
}
declare namespace follow_d_exports {
  export { ChannelHandle, Channels, ConnectOptions, ConnectionState, Earlier, EarlierPage, FallbackReason, Follower, Keeping, OverOptions, Page, RefusedCode, RefusedError, Sharing, connect$1 as connect, connectOver$1 as connectOver, longPolling, overAll, polling, programs, programsOver, sse, streaming, websocket };
}
declare namespace share_d_exports {
  export { SharingOptions, limitedStreams, shareHere, sharedConnection };
}
declare namespace statistics_d_exports {
  export { Interval, criticalT, differenceOfMeans, holm, intervalAround, mean, meanOfClusters, meanOfRatios, standardDeviation, twoSidedP };
}
declare namespace stores_d_exports {
  export { ChannelOptions, ChannelSnapshot, ChannelStore, ConnectionSnapshot, ConnectionStore, Opened, PendingMessage, PresenceSnapshot, PresenceStore, Shared, Store, Stores };
}
declare namespace transports_d_exports {
  export { BusyError, Closing, Connection, Http, HttpError, OpenTransport, Opening, Platform, RefusedError, Send, Transports, WebTransport, asClosing, askClock, browser, browserTimers, fingerprintOf, lackingTransports, limitToSlots, newKey, newName, now, openEventsBy, transportsByName, transportsOver };
}
declare namespace wire_d_exports {
  export { Bodies, ByHttp, ClockEstimate, ClockReading, DownFrame, Draft, Exchange, HttpVersion, Kind, Message, Mode, PollAnswer, Polling, Random, Refused, Stored, Timers, TransportName, WindowHttp, WindowMode, combine, connections, createClockEstimate, createSeededRandom, drawNormal, isKind, modeFor, modeNamed, modes, parseCursor, roundTripMs, shareNames, shuffled, transportNames, windowHttpVersions, windowModeNamed, windowModes };
}
declare namespace yjs_d_exports {
  export { CrosswindProvider, DocumentStart, ProviderOptions, SaveState, mergeUpdates };
}
export { connect_d_exports as ".", connect_d_exports as "./browser", clock_d_exports as "./clock", debug_d_exports as "./debug", document_store_d_exports as "./document-store", drafts_d_exports as "./drafts", follow_d_exports as "./follow", share_d_exports as "./share", shared_worker_d_exports as "./shared-worker", statistics_d_exports as "./statistics", stores_d_exports as "./stores", transports_d_exports as "./transports", wire_d_exports as "./wire", yjs_d_exports as "./yjs" };
import * as Y from "yjs";
import { Awareness } from "y-protocols/awareness";
interface AwarenessFrame<State = unknown> {
  readonly type: 'awareness';
  readonly channel: string;
  readonly windows: readonly {
    readonly window: string;
    readonly user?: string;
    readonly state: State | null;
  }[];
  readonly whole?: true;
}
interface AwarenessReport {
  readonly state: unknown;
  readonly window?: string;
  readonly channel?: string;
}
interface BeatReport {
  readonly at?: number | undefined;
  readonly windows?: Readonly<Record<string, number>> | undefined;
}
interface Bodies {
  update: UpdateBody;
  json: JsonBody;
  change: ChangeBody;
  erasure: ErasureBody;
  revocation: RevocationBody;
}
interface Bounds {
  readonly messages: number;
  readonly bytes: number;
}
interface Bye {
  readonly type: 'bye';
  readonly code: ByeCode;
  readonly message: string;
  readonly retryAfterMs: number;
}
interface Change extends Partial<Drafts> {
  readonly tell?: ((listener: OutboxListener) => void) | undefined;
}
interface ChangeBody extends Content {
  readonly seq: number;
  readonly user?: string | undefined;
}
interface ChannelHandle {
  readonly link: Promise<Link>;
  page(after: string, pauseMs?: number): Promise<Page>;
  pageBefore(kind: string, place: Earlier): Promise<EarlierPage>;
  publish<K extends Kind>(kind: K, body: Bodies[K]): Promise<{
    readonly seq: number;
  }>;
  show(state: unknown): void;
  fail(error: unknown): void;
  leave(): void;
}
interface ChannelOptions<Data> extends Pick<Place, 'kind'> {
  readonly from?: string | undefined;
  readonly limit?: number | undefined;
  readonly initial?: Past<Data> | undefined;
}
interface ChannelSnapshot<Data, Sent = Data> {
  readonly status: 'loading' | 'ready' | 'failed';
  readonly messages: readonly RoomMessage<Data>[];
  readonly pending: readonly PendingMessage<Sent>[];
  readonly hasEarlier: boolean;
  readonly error: ClientError | null;
}
interface ChannelStore<Data, Sent = Data> extends Store<ChannelSnapshot<Data, Sent>> {
  publish(data: Sent): Promise<{
    readonly seq: number;
  }>;
  drop(id: string): void;
  change(seq: number, data: Sent): Promise<{
    readonly seq: number;
  }>;
  erase(seq: number): Promise<{
    readonly seq: number;
  }>;
  sendVolatile(data: Sent): Promise<void>;
  loadEarlier(): Promise<void>;
}
interface ChosenTransport extends WebTransport {
  readonly modes: readonly TransportMode[];
}
interface ClockAnswer {
  readonly type: 'clock';
  readonly sent: number;
  readonly received: number;
  readonly at: number;
}
interface ClockEstimateSettings {
  readonly maxExchanges?: number;
  readonly keepMs?: number;
  readonly maxDriftPpm?: number;
  readonly wanderPpm?: number;
  readonly resolutionMs?: number;
}
interface ClockReading {
  readonly offsetMs: number;
  readonly boundMs: number;
}
interface Closing {
  readonly code: 'lost' | 'unsupported' | 'full' | 'refused' | 'uninvited' | ByeCode;
  readonly sentence: string;
  readonly retryAfterMs: number | null;
}
interface ConnectOptions {
  readonly modes?: readonly string[];
  readonly fallbacks?: Readonly<Record<string, string | null>>;
  readonly polling?: Polling;
  readonly clock?: typeof LinkClock;
  readonly origins?: Readonly<Partial<Record<WindowHttp, string>>>;
  readonly token?: () => string | Promise<string>;
  readonly renewSession?: () => Promise<unknown>;
  readonly platform?: Platform;
  readonly share?: Sharing;
  readonly drafts?: Keeping;
  readonly debug?: typeof Link | undefined;
}
interface ConnectionSnapshot extends ConnectionState {
  readonly error: ClientError | null;
}
interface ConnectionState extends Partial<LinkState> {
  readonly mode: string;
  readonly status: LinkState['status'];
  readonly clock: LinkState['clock'];
  readonly behindMs: LinkState['behindMs'];
  readonly pending: number;
  readonly outbox?: OutboxState;
  readonly reason: string | null;
  readonly windows?: number;
  readonly browserHttp1Streams?: number;
}
interface ConnectionStore extends Store<ConnectionSnapshot> {
  retry(): Promise<void>;
}
interface Content {
  readonly data?: unknown;
  readonly bytes?: string | undefined;
  readonly digest?: string | undefined;
}
interface Cursor {
  readonly epoch: string;
  readonly seq: number;
}
interface DataChange<Data> extends JsonMessage<Data | undefined> {
  readonly changes: number;
}
interface DocumentPolicyOptions {
  readonly window: string;
  readonly bounds: Bounds;
  readonly random: Random;
  readonly isHeld?: (draft: Draft, code: string) => boolean;
  readonly waitsIfDenied?: boolean;
}
interface DocumentSnapshot {
  readonly doc: Y.Doc | null;
  readonly provider: CrosswindProvider | null;
  readonly isSynced: boolean;
  readonly saveState: SaveState;
  readonly mayWrite: boolean | null;
  readonly error: ClientError | null;
}
interface DocumentStart {
  readonly messages: readonly Message[];
  readonly cursor: string;
}
interface Draft<K extends Kind = Kind> {
  readonly id: string;
  readonly channel: string;
  readonly kind: K;
  readonly from: string;
  readonly at: number;
  readonly body: Bodies[K];
  readonly volatile?: true | undefined;
}
interface DraftDatabase {
  readonly key: (proposed: string) => Promise<string>;
  readonly change: (added: readonly DraftRecord[], removed: readonly string[]) => Promise<void>;
  readonly read: (channel?: string | undefined) => Promise<readonly DraftRecord[]>;
  readonly close: () => void;
  onGone: () => void;
}
interface DraftKeeperParts {
  readonly window: string;
  readonly store: Pick<DraftStore, 'write' | 'look' | 'close' | 'onGone'>;
  readonly timers: Timers;
  readonly savesOnClose: boolean;
  readonly shared?: SharedDrafts;
}
interface DraftRecord extends UnstoredDraft {
  readonly channel: string;
  readonly window: string;
  readonly order: number;
}
interface DraftStoreParts {
  readonly database: DraftDatabase;
  readonly locks: Locks | null;
  readonly window: string;
  readonly predecessor?: string | null;
  readonly channel?: string | undefined;
  readonly mayTake: boolean;
  readonly isOwn?: (one: UnstoredDraft) => boolean;
  readonly news: Pick<BroadcastChannel, 'postMessage' | 'onmessage' | 'close'>;
  readonly timers: Pick<Timers, 'now'>;
  readonly onLeft: (left: readonly UnstoredDraft[]) => void;
}
interface Drafts {
  readonly pending: readonly PendingDraft[];
  readonly held: readonly PendingDraft[];
  readonly leavesAt?: number;
}
interface DraftsOptions {
  readonly user: string;
  readonly onRefused?: (message: LeftMessage, error: RefusedError) => void;
}
interface Earlier {
  readonly before?: number | undefined;
  readonly limit?: number | undefined;
}
interface EarlierPage {
  readonly messages: readonly Message[];
  readonly cursor: string;
  readonly hasEarlier: boolean;
}
interface ErasureBody {
  readonly head: number;
}
interface Exchange {
  readonly sentAt: number;
  readonly receivedAt: number;
  readonly answeredAt: number;
  readonly returnedAt: number;
}
interface Failing {
  readonly error: ClientError | null;
}
interface Follower {
  readonly from?: string | undefined;
  take(message: Message, cursor: string, receivedAt: number, dueAt: number): void;
  volatile?(message: Draft): void;
  readonly isRequired?: boolean | undefined;
  joined?(from: string, to: string): Promise<void>;
  missed?(from: string, to: string): Promise<void>;
  newLog?(): void;
  end(): void;
  refusal?: RefusedError;
  unsent?(): readonly UpdateBody[];
  readonly presence: {
    heard(frame: AwarenessFrame, own: string): void;
    refused(error: RefusedError): void;
  };
}
interface Heartbeat {
  readonly type: 'heartbeat';
  readonly newest: number;
  readonly at: number;
}
interface JsonBody extends Content {
  readonly user?: string | undefined;
  readonly changedAt?: number | undefined;
}
interface JsonMessage<Data> {
  readonly id: string;
  readonly channel: string;
  readonly seq: number;
  readonly at: number;
  readonly acceptedAt: number;
  readonly cursor: string;
  readonly from: string;
  readonly user: string | undefined;
  readonly data: Data;
  readonly changedAt?: number;
}
interface Keeping {
  readonly over: (base: string) => {
    readonly key: Promise<string>;
    readonly name?: string;
    readonly outbox: (options: OutboxOptions, listener: OutboxListener) => Outbox;
  };
}
interface LeftMessage {
  readonly id: string;
  readonly channel: string;
  readonly data: unknown;
}
interface LinkListener extends OutboxListener {
  onState(state: LinkState): void;
  onMessage(message: Message, receivedAt: number, dueAt: number): void;
  onDenied?(error: unknown): void;
  onNewLog(): void;
  onVolatile?(message: Draft): void;
  onMissed?(from: string, to: string): void;
  onPresence?(presence: Presence$1): void;
  onAwareness(frame: AwarenessFrame): void;
  onStateRefused?(channel: string | undefined, error: RefusedError): void;
}
interface LinkMode extends TransportMode {
  readonly fallback: string | null;
}
interface LinkOptions {
  readonly window: string;
  readonly timers: Timers;
  readonly random: Random;
  readonly outbox: (listener: OutboxListener) => Outbox;
  readonly mode: LinkMode;
  readonly modes: readonly LinkMode[];
  readonly transports: Transports;
  readonly baseFor: (http: WindowHttp) => string;
  readonly polling?: Polling | undefined;
  readonly proof: Iterable<[name: string, value: string]>;
  readonly token?: (() => string | null) | undefined;
  readonly channels: readonly string[];
  readonly clock?: typeof LinkClock | undefined;
  readonly platform?: Pick<Platform, 'fetch' | 'send'> | undefined;
  readonly renewSession: (closing: Closing) => Promise<unknown>;
}
interface LinkState {
  readonly status: 'opening' | 'open' | 'waiting';
  readonly mode: string;
  readonly preferred: string;
  readonly fallbackReason: FallbackReason | null;
  readonly spokenHttp: WindowHttp | null;
  readonly reason: string | null;
  readonly retryAt: number | null;
  readonly repairs: number;
  readonly behindMs: number | null;
  readonly clock: ClockReading | null;
  readonly user: string | null | undefined;
  readonly readOnly: readonly string[] | undefined;
}
interface MeanError {
  readonly standardError: number;
  readonly degreesOfFreedom: number;
}
interface Merging {
  readonly mergeUpdates: (updates: readonly UpdateBody[]) => UpdateBody;
  readonly pauseMs?: number;
  readonly minQueued?: number;
  readonly maxBytes?: number;
  readonly ignoresBounds?: boolean;
}
interface Message<K extends Kind = Kind> extends Draft<K> {
  readonly seq: number;
  readonly acceptedAt: number;
}
interface Mode extends WindowMode {
  readonly http: HttpVersion;
}
interface OpenChannel {
  readonly presence: Presence;
  readonly link: Promise<Link>;
  publish(kind: string | undefined, data: unknown): Promise<{
    readonly seq: number;
  }>;
  change(seq: number, data: unknown): Promise<{
    readonly seq: number;
  }>;
  erase(seq: number): Promise<{
    readonly seq: number;
  }>;
  sendVolatile(kind: string | undefined, data: unknown): Promise<void>;
  readBack(kind: string | undefined, place?: Earlier): Promise<Past<unknown>>;
  subscribe(subscriber: Subscriber<unknown>): Off;
  hold(onError: (error: RefusedError) => void): Off;
}
interface OpenTransport {
  readonly send: (draft: Draft) => Promise<Stored>;
  readonly outlivesPage?: boolean | undefined;
  readonly beat: (beat: BeatReport) => void;
  readonly askClock?: () => void;
  readonly sendAwareness: (report: AwarenessReport) => void;
  readonly close: (isForGood?: boolean) => void;
}
interface Opening {
  readonly base: string;
  readonly mode: LinkMode;
  readonly query: URLSearchParams;
  readonly polling?: Polling | undefined;
  readonly onFrame: (frame: DownFrame, receivedAt: number) => void;
  readonly onClose: (closing: Closing) => void;
}
interface OutboxKeeper {
  readonly state: Pick<OutboxState, 'persisted' | 'canPersist'>;
  readonly shared?: SharedDrafts | undefined;
  changed(isConnected: boolean): void;
  connected(): void;
  flush(): void;
  close(): void;
}
interface OutboxListener {
  onOutbox(outbox: OutboxState): void;
  onStored(draft: Draft, seq: number): void;
  onRefused(draft: Draft, sentence: string, code: string): void;
  onRenamed?(id: string, ...drafts: readonly Draft[]): void;
  onAdopted?(drafts: readonly Draft[]): void;
}
interface OutboxOptions {
  readonly window: string;
  readonly timers: Timers;
}
interface OutboxPolicy {
  readonly add: (drafts: Drafts, message: Omit<Draft, 'id'>, nextId: () => string, isConnected: boolean) => (Change & Pick<Drafts, 'pending'>) | null;
  readonly refused?: Instead<RefusedError> | undefined;
  readonly denied?: Instead<RefusedError> | undefined;
  readonly admit?: ((pending: readonly PendingDraft[]) => readonly PendingDraft[]) | undefined;
  readonly complete?: (pending: PendingDraft) => Partial<PendingDraft>;
  readonly mergesUpdates?: boolean;
}
interface OutboxState {
  readonly unstored: number;
  readonly persisted: number;
  readonly isFull: boolean;
  readonly canPersist: boolean;
}
interface OverOptions extends ConnectOptions {
  readonly transports: readonly ChosenTransport[];
}
interface Page {
  readonly messages: readonly Message[];
  readonly cursor: string;
  readonly recovered: boolean;
  readonly channelsPerStream: number;
}
interface Past<Data> {
  readonly messages: readonly RoomMessage<Data>[];
  readonly cursor: string;
  readonly hasEarlier: boolean;
}
interface PendingDraft {
  readonly draft: Draft;
  state: 'waiting' | 'inFlight' | 'unanswered';
  leavesAt: number;
  readonly bytes: number;
  readonly edits: number;
  user?: string | null | undefined;
  readonly parts?: readonly UpdateBody[];
  readonly isComplete?: boolean;
  readonly isOver?: boolean;
  readonly isRenamed?: boolean;
}
interface PendingMessage<Sent> {
  readonly id: string;
  readonly at: number;
  readonly data: Sent;
  readonly seq?: number | undefined;
  readonly error?: RefusedError | undefined;
}
interface Place {
  readonly from?: string | undefined;
  readonly kind?: string | undefined;
}
interface Platform {
  readonly send: Send;
  readonly openEvents: (address: string) => Pick<EventSource, 'addEventListener' | 'close'>;
  readonly openSocket: (address: string) => Pick<WebSocket, 'addEventListener' | 'removeEventListener' | 'send' | 'close' | 'readyState'>;
  readonly fetch: (address: string, request: RequestInit) => Promise<Response>;
}
interface PollAnswer {
  readonly cursor: string;
  readonly frames: readonly DownFrame[];
}
interface Polling {
  readonly intervalMs: number;
  readonly holdMs: number;
}
interface Presence$1 {
  readonly type: 'presence';
  readonly windows: number;
  readonly channels?: Readonly<Record<string, number>>;
  readonly browserHttp1Streams: number;
}
interface Presence<State = unknown, Own = State> {
  readonly states: ReadonlyMap<string, State>;
  readonly users: ReadonlyMap<string, string>;
  on<Event extends keyof PresenceEvents<State>>(event: Event, listener: PresenceEvents<State>[Event]): Off;
  set(state: Own | null): void;
}
interface PresenceSnapshot<State> {
  readonly states: ReadonlyMap<string, State>;
  readonly users: ReadonlyMap<string, string>;
  readonly error: ClientError | null;
}
interface PresenceStore<State, Own = State> extends Store<PresenceSnapshot<State>> {
  set(state: Own | null): void;
}
interface ProviderEvents {
  status: [change: {
    readonly status: 'connecting' | 'connected' | 'disconnected';
  }];
  sync: [isSynced: boolean];
  synced: [isSynced: boolean];
  'connection-close': [event: {
    readonly reason: string;
  } | null, provider: CrosswindProvider];
  'connection-error': [error: ClientError, provider: CrosswindProvider];
  saved: [isSaved: boolean];
  'save-state': [state: SaveState];
  refused: [error: RefusedError];
  discarded: [];
  draft: [draft: Draft];
  renamed: [id: string, drafts: readonly Draft[]];
  message: [message: Message, receivedAt: number, dueAt: number];
  applied: [message: Message];
  'awareness-refused': [error: RefusedError];
}
interface ProviderOptions extends ConnectOptions {
  readonly connect?: boolean;
  readonly awareness?: Awareness;
  readonly connection?: Channels;
  readonly isRequired?: boolean;
  readonly start?: DocumentStart;
}
interface Refused {
  readonly type: 'refused';
  readonly id: string | null;
  readonly code: string;
  readonly message: string;
  readonly retryAfterMs?: number;
}
interface Reply {
  readonly status: number;
  readonly text: string;
  readonly receivedAt: number;
}
interface RevocationBody {
  readonly revoked: readonly Revoked[];
}
interface Revoked {
  readonly user: string;
  readonly seq?: number;
  readonly at?: number;
}
interface Room<Data, Sent = Data, State = unknown, Own = State> {
  readonly name: string;
  readonly presence: Presence<State, Own>;
  on<Event extends keyof RoomEvents<Data>>(event: Event, listener: RoomEvents<Data>[Event]): Off;
  publish(data: Sent): Promise<{
    readonly seq: number;
  }>;
  change(seq: number, data: Sent): Promise<{
    readonly seq: number;
  }>;
  erase(seq: number): Promise<{
    readonly seq: number;
  }>;
  sendVolatile(data: Sent): Promise<void>;
  readBack(place?: Earlier): Promise<Past<Data>>;
  [Symbol.asyncIterator](): AsyncIterableIterator<RoomMessage<Data>, void>;
  leave(): void;
}
interface SharedDrafts {
  readonly open: () => DraftDatabase;
  readonly news: BroadcastChannel;
}
interface Sharing {
  readonly key: (base: string) => Promise<string>;
  readonly over: (transports: Transports, ending: AbortSignal) => Transports;
}
interface SharingOptions {
  readonly share?: Share;
  readonly user: string;
  readonly worker?: OpenWorker;
}
interface Sleeper {
  wake(by: WakeUp): void;
  offline(): void;
  rest(): void;
  hide(): void;
  readonly outbox: {
    flush(): void;
  };
}
interface Store<Snapshot> {
  subscribe(listener: (snapshot: Snapshot) => void): Off;
  getSnapshot(): Snapshot;
  getServerSnapshot(): Snapshot;
}
interface Stored {
  readonly type: 'stored';
  readonly id: string;
  readonly seq: number;
}
interface Subscriber<Data> extends Place {
  readonly onMessage: (message: RoomMessage<Data>) => void;
  readonly onChange?: ((change: RoomChange<Data>) => void) | undefined;
  readonly onVolatile?: ((message: VolatileMessage<Data>) => void) | undefined;
  readonly onGap?: (() => void) | undefined;
  readonly onError?: ((error: RefusedError) => void) | undefined;
}
interface Timers {
  readonly now: Clock;
  readonly later: (run: () => void, delayMs: number) => Cancel;
}
interface TransportMode {
  readonly name: string;
  readonly transport: TransportName;
  readonly http: WindowHttp;
  readonly isOverUdp: boolean;
  readonly windowsPerBrowser: number | null;
  readonly whenFull: string | null;
  readonly isPush: boolean;
  readonly maxInFlight: number;
  readonly joinsConnection: boolean;
}
interface Typed<Input, Output> {
  readonly '~standard': {
    readonly types?: {
      readonly input: Input;
      readonly output: Output;
    } | undefined;
  };
}
interface UnstoredDraft {
  readonly draft: Draft;
  readonly edits: number;
  readonly user?: string | undefined;
}
interface UpdateBody {
  readonly digest?: string;
  readonly update: string;
  readonly user?: string;
  readonly owners?: Readonly<Record<string, readonly number[]>>;
}
interface Watched extends Opening {
  readonly windows?: () => BeatReport['windows'];
}
interface WebTransport {
  readonly name: TransportName;
  readonly open: (opening: Opening, platform?: Platform) => OpenTransport;
  readonly lacks?: () => string | null;
}
interface Welcome {
  readonly type: 'welcome';
  readonly window: string;
  readonly user?: string | undefined;
  readonly readOnly?: readonly string[] | undefined;
  readonly cursor: string;
  readonly recovered: boolean;
  readonly http: WindowHttp;
  readonly heartbeatMs: number;
  readonly at: number;
  readonly stateBytes: number;
}
interface WindowMode extends LinkMode {
  readonly label: string;
  readonly uplink: 'xhr' | 'streamed' | 'socket';
}
type AnyName<Declared, Data> = unknown extends Declared ? string : unknown extends Data ? never : string;
type Asked = Pick<Connection, 'uplink' | 'opening' | 'overdueMs'>;
type ByHttp<Place> = Readonly<Record<HttpVersion, Place> & Partial<Record<WindowHttp, Place>>>;
type ByeCode = keyof typeof byeCodes;
type Cancel = () => void;
type ClientError = Error & {
  readonly code?: RefusedCode | undefined;
};
type Clock = () => number;
type ClockEstimate = ReturnType<typeof createClockEstimate>;
type ConnectionEvents = {
  readonly state: (state: ConnectionState) => void;
  readonly error: (error: RefusedError) => void;
};
type DataOf<Declared, Name> = (RuleOf<Declared, Name> extends {
  readonly validate: Typed<infer _Input, infer Output>;
} ? Output : unknown) | Erased<RuleOf<Declared, Name>>;
type DeclaredName<Declared> = Matches<keyof Declared>;
type DownFrame = Welcome | {
  readonly type: 'message';
  readonly message: Message;
} | {
  readonly type: 'volatile';
  readonly message: Draft;
} | Stored | Refused | Presence$1 | AwarenessFrame | Bye | {
  readonly type: 'omitted';
  readonly count: number;
} | Heartbeat | ClockAnswer;
type Erased<Rule> = Rule extends {
  readonly changes: infer Changes;
} ? Changes extends true | 'server' ? undefined : never : never;
type EventName = keyof ProviderEvents;
type FallbackReason = 'blocked' | 'unsupported' | 'flapping' | 'full';
type Fetch = (address: string, request: RequestInit) => Promise<Response>;
type Follow = (address: string, signal: AbortSignal, onText: (text: string) => void) => Promise<void>;
type HttpVersion = (typeof httpVersions)[number];
type Instead<Answer> = (drafts: Drafts, ended: readonly PendingDraft[], answer: Answer, nextId: () => string) => Change | null;
type Interval = readonly [low: number, high: number];
type Kind = keyof Bodies;
type Listener<Event extends EventName> = (...given: ProviderEvents[Event]) => void;
type Locks = Pick<LockManager, 'request'>;
type Matches<Pattern> = Pattern extends `${infer Prefix}*` ? `${Prefix}${string}` : Pattern;
type Off = () => void;
type OpenWorker = () => SharedWorker;
type Opened = Channels & Pick<Crosswind, 'open'>;
type OwnStateOf<Declared, Name> = RuleOf<Declared, Name> extends {
  readonly presence: Typed<infer Input, infer _Output>;
} ? Input : unknown;
type PresenceEvents<State = unknown> = {
  readonly change: (states: Presence<State>['states']) => void;
  readonly refused: (error: RefusedError) => void;
};
type Random = () => number;
type RefusalCode = keyof typeof statuses;
type RefusedCode = RefusalCode | `${number}` | 'outbox-full' | 'refused' | 'uninvited' | 'withdrawn';
type RoomChange<Data> = DataChange<Data>;
type RoomEvents<Data> = {
  readonly message: (message: RoomMessage<Data>) => void;
  readonly change: (change: RoomChange<Data>) => void;
  readonly volatile: (message: VolatileMessage<Data>) => void;
  readonly gap: () => void;
  readonly error: (error: RefusedError) => void;
};
type RoomMessage<Data> = JsonMessage<Data>;
type RuleOf<Declared, Name> = { [Pattern in keyof Declared]: Name extends Matches<Pattern> ? Declared[Pattern] : never; }[keyof Declared];
type SaveState = 'saved' | 'saving' | 'kept' | 'unsaved' | 'refused';
type Send = (method: 'GET' | 'POST', address: string, body: string | null, limits: {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}) => Promise<Reply>;
type SentOf<Declared, Name> = RuleOf<Declared, Name> extends {
  readonly validate: Typed<infer Input, infer _Output>;
} ? Input : unknown;
type Share = (typeof shareNames)[number];
type StateOf<Declared, Name> = RuleOf<Declared, Name> extends {
  readonly presence: Typed<infer _Input, infer Output>;
} ? Output : unknown;
type TransportName = (typeof transportNames)[number];
type Transports = Readonly<Record<TransportName, WebTransport>>;
type VolatileMessage<Data> = Omit<JsonMessage<Exclude<Data, undefined>>, 'seq' | 'acceptedAt' | 'cursor' | 'changedAt'>;
type WakeUp = 'online' | 'visible' | 'resumed' | 'restored';
type WindowHttp = (typeof windowHttpVersions)[number];
