// The types of @crosswind/server, written by `npm run api`.

declare class Bodies$1 {
  #private;
  constructor(parts: BodiesParts);
  text(request: AnyRequest, grant: Grant, mostBytes?: number): Promise<string>;
  bytes(request: AnyRequest, grant: Grant): Promise<Buffer>;
}
declare class Budget {
  #private;
  constructor(limits: BudgetLimits, timers: Timers);
  open(connection: object, onRefused: (refusal: Refusal) => void, source?: Source | null): Charge;
  handle(connection: object, bytes: number, handle: () => void): void;
}
declare class Channels implements Admission {
  #private;
  readonly typeOf: TypeOf;
  constructor(rules: Readonly<Record<string, ChannelRule>>, settings: LogSettings, timers: Timers, onFailure: (error: unknown) => void);
  typesWith(documents: DocumentRules | undefined): TypeOf;
  get haveDocuments(): boolean;
  isDocument(channel: string): boolean;
  hasOwners(channel: string): boolean;
  isWhole(channel: string): boolean;
  mustHaveMessages(channel: string): void;
  usualKind(channel: string): Kind;
  ruleFor(channel: string, id?: string | null): ChannelRule;
  readonly awareness: Admission['awareness'];
  readonly draft: (given: unknown) => Draft;
  readonly complete: (draft: Draft, grant: Pick<Grant, 'user'>, connection: object | null) => Draft | Promise<Draft>;
}
declare class Charge {
  #private;
  bytes: number;
  isOver: boolean;
  constructor(change: (charge: Charge, bytes: number) => void, onRefused: (refusal: Refusal) => void);
  set(bytes: number): void;
  end(): void;
  refuse(refusal: Refusal): void;
}
declare class Connection {
  #private;
  readonly socket: Socket;
  secure: TLSSocket | null;
  session: ServerHttp2Session | null;
  readonly streams: Set<ServerHttp2Stream>;
  readonly foreign: WeakSet<ServerHttp2Stream>;
  isForeign: boolean;
  idleSince: number | null;
  isOverfull: boolean;
  turns: Turns | null;
  constructor(socket: Socket, limits: Limits, now: number);
  countControlFrame(): void;
  countReset(): void;
  calm(): void;
  look(now: number): void;
}
declare class Connections {
  #private;
  readonly stopWatching: () => void;
  constructor(settings: ConnectionSettings, timers: Timers);
  acceptFor(server: PortServer): Server$1;
  all(): readonly Connection[];
  of(request: AnyRequest): Connection | undefined;
  at(carrier: object | undefined): Connection | undefined;
  count(): Readonly<Record<HttpVersion, number>>;
}
declare class Crosswind {
  #private;
  readonly handler: Handlers['handler'];
  readonly express: Handlers['express'];
  readonly koa: Handlers['koa'];
  readonly fastify: Handlers['fastify'];
  constructor({ engine, path, channels, isOpen }: CrosswindParts);
  readonly attach: (server: AnyServer, how?: {
    readonly requests?: boolean;
  }) => void;
  get isWorker(): boolean;
  readonly listen: ({ host, port, http1Port, cert, key }: Listening, answer?: Answer$1) => Promise<Ports>;
  readonly ready: () => {
    readonly isReady: boolean;
    readonly reason: string | null;
  };
  readonly metrics: () => Promise<string>;
  readonly publish: (channel: string, data: unknown, { id, user, kind }?: {
    readonly id?: string;
    readonly user?: string;
    readonly kind?: Kind;
  }) => Promise<Stored>;
  readonly read: (channel: string, { after }?: {
    readonly after?: number;
  }) => AsyncGenerator<Received>;
  readonly readBack: (channel: string, options?: {
    readonly before?: number;
    readonly limit?: number;
  }) => Promise<{
    readonly messages: readonly Received[];
    readonly hasEarlier: boolean;
  }>;
  readonly channels: (options?: {
    readonly prefix?: string;
    readonly before?: number;
    readonly limit?: number;
  }) => Promise<readonly ChannelInfo[]>;
  readonly document: (channel: string) => Promise<Doc>;
  readonly deleteChannel: (channel: string) => Promise<boolean>;
  readonly revoke: (user: string) => Promise<void>;
  readonly disconnect: (who: Who) => void;
  readonly close: ({ drainMs }?: {
    readonly drainMs?: number;
  }) => Promise<void>;
}
declare class Delivery {
  #private;
  readonly frame: DownFrame;
  readonly seq: number | null;
  readonly channel: string | null;
  readonly isReplaceable: boolean;
  readonly replacesOlder: boolean;
  readonly isAnswer: boolean;
  holders: Set<HeldDeliveries> | null;
  constructor(frame: DownFrame, cursor?: string | null, text?: string, { drop }?: KindRules);
  bytes(framing: Framing): Buffer;
}
declare class DocumentThreads {
  #private;
  readonly documents: DocumentWorker;
  readonly sent: DocumentWorker;
  readonly ledger: Ledger;
  constructor({ limits, schema, tasks, hasOwners }: DocumentRules$1);
  read(log: Pick<Log, 'snapshot'>, channel: string): Promise<Y.Doc>;
  close(): Promise<void>;
}
declare class DocumentWorker {
  #private;
  constructor(parts: WorkerParts);
  get quarantined(): number;
  get failed(): number;
  get durations(): ReadonlyMap<TaskName, {
    readonly count: number;
    readonly ms: number;
  }>;
  read<Name extends TaskName>(channel: string, name: Name, ...input: Input<Name>): Promise<Output<Name>>;
  mustBeReadable(channel: string): void;
  isQuarantined(channel: string): boolean;
  run<Name extends TaskName>(name: Name, ...input: Input<Name>): Promise<Output<Name>>;
  for(...client: Client): Documents;
  close(): Promise<void>;
}
declare class Engine {
  #private;
  static start(parts: EngineParts): Promise<Engine>;
  private constructor();
  get current(): Serving;
  get lost(): Promise<string>;
  get isWorker(): boolean;
  readonly takers: Takers;
  listen(listening: Listening$1, takers?: Takers): Promise<Ports>;
  attach(server: AnyServer, path: string, how: {
    readonly requests?: boolean;
  }): void;
  close(drainMs: number): Promise<void>;
}
declare class Grant implements Rights {
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly maxMessageBytes: number | null;
  readonly user: string | null;
  readonly account: string | null;
  readonly expiresAt: number | null;
  readonly isRevoked: () => boolean;
  constructor(parts: GrantParts);
  get mayReadAll(): boolean;
  get mayWriteAll(): boolean;
  mayRead(channel: string): boolean;
  mayWrite(channel: string): boolean;
  hasEnded(now: number): boolean;
  mustLast(now: number): void;
}
declare class Health {
  #private;
  readonly stop: () => void;
  constructor(parts: HealthParts);
  outage(): Outage | null;
  outages(): number;
  whyUnready(): string | null;
  refusal(): Refusal | null;
  readonly mustBeCurrent: () => void;
}
declare class HeldDeliveries {
  #private;
  constructor(charge: (bytes: number) => void);
  set(deliveries: readonly Delivery[]): void;
}
declare class Hub {
  #private;
  readonly snapshot: Log['snapshot'];
  constructor(parts: HubParts);
  join(joining: Joining, cursor: Cursor | null): Subscriber;
  leave(stream: Subscriber): void;
  poll(poll: Poll): Promise<PollReply>;
  left(id: string, opening: number, isForGood?: boolean): void;
  publish(draft: Draft, holder?: Holder): Stored$1 | Promise<Stored$1>;
  waitMs(connection: object, sender?: string): number;
  stateWaitMs(connection: object, window?: string): number;
  hurried(connection: object): void;
  refused(connection: object, bytes: number): void;
  heard(from: Subscriber | string, carries?: Readonly<Record<string, number>>): void;
  show(from: Subscriber | string, report: AwarenessReport, opening?: number): void;
  streamOf(id: string): Subscriber | null;
  windowCount(): number;
  windowsOn(page: string): number;
  windows(): {
    id: string;
    channels: string[];
    mode: string;
    backlogBytes: number;
    droppedMessages: number;
    heardAt: number | null;
  }[];
  isDraining(): boolean;
  sendAway(sentence: string): void;
  drain(withinMs: number): Promise<void>;
  end(who: Who, isEverywhere?: boolean): void;
}
declare class Ledger implements Gate {
  #private;
  constructor(rules: GateRules);
  open(log: Log): void;
  pass(draft: Draft, acceptedAt: number, store: Store): number | Promise<number>;
  readonly fold: (messages: readonly Message<'update'>[]) => Promise<UpdateBody>;
}
declare class Monitor implements Meter {
  #private;
  constructor(parts: MonitorParts);
  stored(ms: number): void;
  sent(messages: number): void;
  omitted(): void;
  failed(): void;
  unrecovered(): void;
  ended(code: string): void;
  reply(after: number): MonitorReply;
  metrics(): Promise<string>;
  close(): void;
  stop(): void;
}
declare class RateLimit {
  #private;
  constructor(count: number, now: Clock, periodMs?: number);
  take(connection: object, sender?: string): number;
  charge(connection: object, tokens: number, sender?: string): void;
  debtMs(connection: object): number;
}
declare class RecentDeliveries {
  #private;
  constructor(typeOf: TypeOf);
  add(message: Message, cursor: string, text?: string): Delivery;
  deliveriesOf({ messages, head: { epoch } }: Pick<CatchUp, 'messages' | 'head'>): Delivery[];
}
declare class Refusal extends Error {
  readonly name = "Refusal";
  readonly code: RefusalCode;
  readonly id: string | null;
  readonly retryAfterMs: number | null;
  constructor(code: RefusalCode, sentence: string, id?: string | null, retryAfterMs?: number | null, cause?: unknown);
  get status(): number;
  about(id: string): Refusal;
  toJSON(): {
    readonly type: 'refused';
    readonly id: string | null;
    readonly code: "aborted" | "bad-channel" | "bad-frame" | "bad-query" | "bad-request" | "bad-shape" | "bad-update" | "document-changed" | "document-deleted" | "document-full" | "draining" | "foreign-host" | "foreign-origin" | "headers-too-large" | "history-erased" | "id-taken" | "internal" | "invitation-expired" | "invitation-invalid" | "log-full" | "log-unavailable" | "mirrored-page" | "no-session" | "no-stream" | "not-acceptable" | "not-found" | "not-invited-there" | "not-json" | "not-your-client" | "not-your-name" | "open-access" | "other-session" | "read-only-channel" | "read-only-invitation" | "reserved-name" | "session-expired" | "shared-document" | "silent" | "too-costly" | "too-fast" | "too-large" | "too-many-channels" | "too-many-connections" | "too-many-windows" | "too-much-begun" | "too-slow" | "update-gap" | "upgrade-required" | "wrong-method" | "wrong-type";
    readonly message: string;
    readonly retryAfterMs?: number;
  };
}
declare class Revocations {
  #private;
  static follow(log: Pick<Log, 'follow' | 'snapshot' | 'read'>, onRevoked: (user: string) => void): Promise<Revocations>;
  constructor(head: Cursor, log: Pick<Log, 'read'>, onRevoked?: (user: string) => void);
  take(message: Message): void;
  get position(): Cursor;
  reachBack({ epoch, seq }: Cursor): Promise<boolean>;
  isRevoked(user: string | null, { seq }: Pick<Cursor, 'seq'>): boolean;
}
declare class Serving {
  #private;
  readonly log: Log;
  readonly hub: Hub;
  readonly health: Health;
  readonly monitor: Monitor;
  readonly documents: DocumentThreads | null;
  readonly leads: boolean;
  readonly limits: EngineSettings['limits'];
  readonly lost: Promise<string>;
  static open(parts: ServingParts, signal: AbortSignal): Promise<Serving>;
  private constructor();
  get gate(): TicketGate | null;
  get takers(): Takers;
  close(drainMs: number, closeConnections?: () => Promise<void>): Promise<void>;
}
declare class Subscriber {
  #private;
  readonly identity: Joining;
  constructor(joining: Joining, hub: SubscriberHub);
  open(cursor: Cursor | null): Promise<void>;
  replay(deliveries: readonly Delivery[]): Promise<void>;
  begin(head: number): void;
  send(delivery: Delivery): void;
  offer(delivery: Delivery): boolean;
  drained(): void;
  dismiss(code: ByeCode, sentence: string): void;
  fail(error: unknown): void;
  end(code: ByeCode, message: string, retryAfterMs: number): void;
  gone(): void;
  get isClosed(): boolean;
  get isBehind(): boolean;
  get backlogBytes(): number;
  get dropped(): number;
}
declare class TicketGate implements Gate$1 {
  #private;
  constructor(parts: TicketGateParts);
  grantFor({ method, url, headers }: Asking): Promise<Grant>;
  ticketFor(headers: IncomingHttpHeaders, token: string | null, fingerprint: string | null): Promise<{
    ticket: string;
    expiresAt: number;
  }>;
}
declare class TooCostly extends Error {
  readonly name = "TooCostly";
}
declare const byeCodes: {
  readonly draining: 1012;
  readonly failed: 1011;
  readonly overflow: 4001;
  readonly silent: 4002;
  readonly expired: 4003;
  readonly replaced: 4004;
};
declare const engineSchema: z.ZodObject<{
  allowedOrigins: z.ZodDefault<z.ZodArray<z.ZodString>>;
  allowedHosts: z.ZodDefault<z.ZodArray<z.ZodString>>;
  broker: z.ZodDefault<z.ZodPreprocess<z.ZodLiteral<"embedded" | "nats" | "sqs">, unknown>>;
  storage: z.ZodDefault<z.ZodPreprocess<z.ZodLiteral<"memory" | "sqlite">, unknown>>;
  nats: z.ZodPrefault<z.ZodObject<{
    servers: z.ZodDefault<z.ZodArray<z.ZodString>>;
    stream: z.ZodDefault<z.ZodString>;
    replicas: z.ZodDefault<z.ZodPreprocess<z.ZodLiteral<0 | 1 | 3 | 5>, unknown>>;
    credentialsFile: z.ZodDefault<z.ZodNullable<z.ZodString>>;
  }, z.core.$strict>>;
  sqs: z.ZodPrefault<z.ZodObject<{
    endpoint: z.ZodDefault<z.ZodNullable<z.ZodURL>>;
    region: z.ZodDefault<z.ZodString>;
    queue: z.ZodDefault<z.ZodString>;
    visibilitySeconds: z.ZodDefault<z.ZodInt>;
    maxReceives: z.ZodDefault<z.ZodInt>;
  }, z.core.$strict>>;
  durability: z.ZodDefault<z.ZodPreprocess<z.ZodLiteral<"machine" | "process">, unknown>>;
  heartbeatMs: z.ZodDefault<z.ZodInt>;
  limits: z.ZodPrefault<z.ZodObject<{
    maxMessageBytes: z.ZodDefault<z.ZodInt>;
    maxWindows: z.ZodDefault<z.ZodInt>;
    maxConnections: z.ZodDefault<z.ZodInt>;
    maxChannels: z.ZodDefault<z.ZodInt>;
    newChannelsPerHour: z.ZodDefault<z.ZodInt>;
    channelsPerWindow: z.ZodDefault<z.ZodInt>;
    messagesPerSecond: z.ZodDefault<z.ZodInt>;
    statesPerSecond: z.ZodDefault<z.ZodInt>;
    stateBytes: z.ZodDefault<z.ZodInt>;
    stateBytesPerSecond: z.ZodDefault<z.ZodInt>;
    bodySeconds: z.ZodDefault<z.ZodInt>;
    connectionBytes: z.ZodDefault<z.ZodInt>;
    unfinishedBytes: z.ZodDefault<z.ZodInt>;
    queueBytesPerWindow: z.ZodDefault<z.ZodInt>;
    streamsPerSession: z.ZodDefault<z.ZodInt>;
    logMessages: z.ZodDefault<z.ZodInt>;
    logBytes: z.ZodDefault<z.ZodInt>;
    memoryMessages: z.ZodDefault<z.ZodInt>;
    memoryBytes: z.ZodDefault<z.ZodInt>;
    logHours: z.ZodDefault<z.ZodInt>;
    documentBytes: z.ZodDefault<z.ZodInt>;
    documentSeconds: z.ZodDefault<z.ZodInt>;
    documentMegabytes: z.ZodDefault<z.ZodInt>;
    outboxMessages: z.ZodDefault<z.ZodInt>;
    outboxBytes: z.ZodDefault<z.ZodInt>;
  }, z.core.$strict>>;
}, z.core.$strict>;
declare const httpVersions: readonly ['2', '1.1'];
declare const outputLevels: {
  readonly started: 'info';
  readonly stopping: 'info';
  readonly stopped: 'info';
  readonly 'not-started': 'fatal';
  readonly crashed: 'fatal';
  readonly 'process-warning': 'warn';
  readonly 'certificate-made': 'info';
  readonly 'message-limit-lowered': 'info';
  readonly 'connections-limited': 'warn';
  readonly 'browser-not-opened': 'info';
  readonly 'trace-unknown': 'warn';
  readonly 'worker-ended': 'error';
  readonly 'front-failed': 'error';
  readonly 'part-not-closed': 'error';
  readonly 'sensor-trouble': 'warn';
  readonly 'sensor-recovered': 'info';
  readonly 'sensor-note': 'info';
  readonly 'reading-not-stored': 'error';
  readonly 'log-awaited': 'warn';
  readonly 'log-down': 'error';
  readonly 'log-up': 'info';
  readonly 'log-lost-messages': 'error';
  readonly 'log-replaced': 'error';
  readonly 'restart-failed': 'error';
  readonly 'log-failed': 'error';
  readonly 'document-failed': 'error';
  readonly 'document-quarantined': 'warn';
  readonly 'part-failed': 'error';
  readonly 'stream-failed': 'error';
  readonly 'request-failed': 'error';
  readonly 'frame-failed': 'error';
  readonly 'websocket-failed': 'error';
  readonly 'connection-failed': 'error';
  readonly 'http2-violation': 'warn';
  readonly 'many-failures': 'error';
};
declare const places: readonly ['shared', 'own'];
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
  readonly 'invitation-invalid': 401;
  readonly 'invitation-expired': 401;
  readonly 'foreign-host': 403;
  readonly 'foreign-origin': 403;
  readonly 'not-your-name': 403;
  readonly 'reserved-name': 403;
  readonly 'not-invited-there': 403;
  readonly 'read-only-invitation': 403;
  readonly 'not-your-client': 403;
  readonly 'read-only-channel': 403;
  readonly 'too-many-channels': 403;
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
  readonly 'mirrored-page': 409;
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
  readonly 'log-unavailable': 503;
  readonly 'log-full': 503;
};
declare const tasks$1: {
  contradiction: (updates: readonly string[], update: string, clients: readonly number[]) => Id | null;
  costOf: (updates: readonly string[]) => {
    items: number;
    cpuMs: number;
  };
  join: (updates: readonly string[]) => {
    update: string;
    bytes: number;
    unread: number[];
    items: number;
  };
  merge: (updates: readonly string[]) => {
    update: string;
    bytes: number;
    unread: number[];
    items: null;
  };
  partsOf: (update: string, items: number, documentSeconds: number) => Uint8Array[] | null;
  readUpdate: (update: string) => Update | {
    readonly bad: string;
  };
  recordOf: (messages: readonly Message<'update'>[]) => Plain;
  linesFrom: (type: TextType, text: string) => readonly Line[];
  textOf: (type: TextType, messages: Messages) => string;
  updateFor: (messages: Messages, rewriting: Rewriting) => string | null;
  htmlFor(messages: Messages, { way, lines }: Rewriting): string | null;
  updateToPage: (messages: Messages, client: number) => string;
};
declare const textTypes: readonly ['text/plain', 'text/markdown', 'text/html'];
declare const transportNames: readonly ['sse', 'websocket', 'long-polling', 'polling', 'streaming'];
declare const windowHttpVersions: readonly ['3', '2', '1.1'];
declare function createCrosswind(options: CrosswindOptions): Promise<Crosswind>;
declare function handlersBelow(path: string, takeRequest: TakeRequest): {
  handler: (request: AnyRequest, response: AnyResponse, next?: () => void) => void;
  express: () => (request: AnyRequest, response: AnyResponse, next?: () => void) => void;
  koa: () => (ctx: KoaContext, next: () => Promise<unknown>) => Promise<void>;
  fastify(instance: FastifyLike): Promise<void>;
};
declare function serverOptions(): {
  handshakeTimeout: number;
  maxHeaderSize: number;
  keepAliveTimeout: number;
  headersTimeout: number;
  requestTimeout: number;
  connectionsCheckingInterval: number;
  allowHTTP1: true;
  settings: {
    readonly maxConcurrentStreams: number;
    readonly initialWindowSize: 65536;
    readonly maxHeaderListSize: number;
    readonly enablePush: false;
    readonly enableConnectProtocol: true;
  };
  maxSettings: 16;
  maxOutstandingPings: 2;
  maxSessionMemory: 64;
  maxSessionInvalidFrames: 100;
  streamResetBurst: number;
  streamResetRate: 100;
};
declare namespace index_d_exports {
  export { Authorize, Bodies, ChannelInfo, ChannelRule, ChannelType, Check, Content, Crosswind, CrosswindOptions, Draft, Expiry, Fold, Gate, JsonRule, Keep, Kind, KindRules, Message, Misfit, Permit, Prepare, Received, Refusal, Revoked, StandardSchema, Storage, Store, Stored, UpdateBody, YjsRule, createCrosswind, serverOptions };
}
export { index_d_exports as "." };
import * as Y from "yjs";
import Router from "@koa/router";
import { Doc } from "yjs";
import { Duplex, Readable } from "node:stream";
import { EventEmitter } from "node:events";
import { Http2SecureServer, Http2ServerRequest, Http2ServerResponse, IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import { IncomingMessage, ServerResponse } from "node:http";
import { Middleware } from "koa";
import { Server as Server$1, Socket } from "node:net";
import { Server } from "node:https";
import { TLSSocket } from "node:tls";
import { WebSocket } from "ws";
import { z } from "zod";
interface Admission {
  readonly draft: (given: unknown) => Draft;
  readonly awareness: (given: unknown) => AwarenessReport;
  readonly complete?: (draft: Draft, grant: Grant, connection: object) => Draft | Promise<Draft>;
}
interface Application {
  readonly mount: (mounting: Mounting) => void;
  readonly otherwise?: Middleware;
  readonly stop: () => Promise<void>;
}
interface Asking {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
}
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
interface Bodies {
  update: UpdateBody;
  json: JsonBody;
  erasure: ErasureBody;
  revocation: RevocationBody;
}
interface BodiesParts {
  readonly limits: Pick<TransportLimits, 'maxMessageBytes' | 'bodySeconds'>;
  readonly timers: Timers;
  readonly budget: Budget;
  readonly penalties: RateLimit;
}
interface Bus {
  readonly post: (note: object) => void;
  readonly follow: (onNote: (note: unknown) => void, onReturned: () => void) => void;
  readonly bequeath?: (note: object) => void;
}
interface Bye {
  readonly type: 'bye';
  readonly code: ByeCode;
  readonly message: string;
  readonly retryAfterMs: number;
}
interface CatchUp extends Snapshot {
  readonly recovered: boolean;
  readonly reached: Cursor;
}
interface ChannelFigures {
  readonly name: string;
  readonly head: number;
  readonly messages: number;
  readonly bytes: number;
}
interface ChannelInfo {
  readonly name: string;
  readonly newest: number;
  readonly messages: number;
  readonly bytes: number;
}
interface ChannelType {
  readonly name: string;
  readonly kinds: { readonly [K in Kind]?: KindRules<K>; };
  readonly keep?: Keep | undefined;
  readonly gate?: Gate | undefined;
  readonly refuse?: (draft: Draft, content: Content) => Refusal | null;
  readonly prepare?: Prepare | undefined;
  readonly expiry?: (content: Content) => Expiry;
  readonly showsWindows?: boolean;
}
interface ClientIdentity {
  readonly id: string;
  readonly owner: string | null;
  readonly user?: string;
  readonly channels: ReadonlySet<string>;
  readonly mode: WindowMode;
  readonly opening: number;
  readonly holder?: Holder;
  readonly isRevoked?: () => boolean;
}
interface ClockAnswer {
  readonly type: 'clock';
  readonly sent: number;
  readonly received: number;
  readonly at: number;
}
interface ConnectionSettings extends Limits {
  readonly maxConnections: number;
  readonly handshakeMs: number;
}
interface Content {
  readonly channel: string;
  readonly kinds: readonly Kind[];
  readonly newest: <K extends Kind>(kind: K) => Message<K> | undefined;
}
interface CrosswindOptions {
  readonly path: string;
  readonly channels: Readonly<Record<string, ChannelRule>>;
  readonly authorize: 'everyone' | Authorize;
  readonly secret?: string;
  readonly storage?: Storage;
  readonly workers?: number | 'auto';
  readonly limits?: Partial<EngineSettings['limits']>;
  readonly heartbeatMs?: number;
  readonly allowedOrigins?: readonly string[];
  readonly allowedHosts?: readonly string[];
  readonly onFailure?: (error: unknown) => void;
}
interface CrosswindParts {
  readonly engine: Engine;
  readonly path: string;
  readonly channels: Channels;
  readonly isOpen: boolean;
}
interface Cursor {
  readonly epoch: string;
  readonly seq: number;
}
interface DocumentRules extends Gate {
  readonly fold: Fold<'update'>;
}
interface DocumentRules$1 {
  readonly limits: TaskLimits & {
    readonly documentBytes: number;
  };
  readonly schema?: Schema;
  readonly tasks?: URL;
  readonly hasOwners?: (channel: string) => boolean;
}
interface Draft<K extends Kind = Kind> {
  readonly id: string;
  readonly channel: string;
  readonly kind: K;
  readonly from: string;
  readonly at: number;
  readonly body: Bodies[K];
}
interface Earlier {
  readonly messages: readonly Message[];
  readonly isOldest: boolean;
  readonly head: Cursor;
}
interface EngineParts extends Omit<ServingParts, OfEngine> {
  readonly workers: number;
  readonly drainMs: number;
  readonly signal?: AbortSignal | undefined;
}
interface ErasureBody {
  readonly head: number;
}
interface Expiry {
  readonly at: number | null;
  readonly spareAt: number | null;
}
interface FastifyLike {
  all(path: string, options: {
    onRequest: (request: {
      raw: AnyRequest;
    }, reply: FastifyReplyLike) => void;
  }, handler: () => void): unknown;
}
interface FastifyReplyLike {
  readonly raw: AnyResponse;
  getHeaders(): Record<string, number | string | string[] | undefined>;
  hijack(): unknown;
  callNotFound(): unknown;
}
interface Framing {
  readonly encode: (frame: DownFrame, cursor: string | null, message?: string) => Buffer;
}
interface Gate {
  readonly pass: (draft: Draft, acceptedAt: number, store: Store) => number | Promise<number>;
}
interface Gate$1 {
  readonly grantFor: (request: Asking) => Promise<Grant>;
}
interface GateRules {
  readonly schema: Schema;
  readonly hasOwners?: ((channel: string) => boolean) | undefined;
  readonly documents: Documents;
  readonly trials: Pick<Documents, 'for'>;
  readonly documentBytes: number;
  readonly documentSeconds: number;
  readonly now: Clock;
  readonly onFailure: (error: unknown) => void;
}
interface GrantParts extends Rights {
  readonly expiresAt: number | null;
  readonly isRevoked?: () => boolean;
}
interface HealthParts {
  readonly timers: Timers;
  readonly outage: () => Outage | null;
  readonly print: (code: 'log-down' | 'log-up', sentence: string) => void;
  readonly onChanged?: ((outage: Outage | null) => void) | undefined;
  readonly onCutOff: (sentence: string) => void;
}
interface Holder {
  readonly connection: object;
  readonly account: string | null;
}
interface HostedLog {
  readonly bus: NonNullable<OpenedLog['bus']>;
  readonly tellOutage: (outage: Outage | null) => void;
}
interface HubParts {
  readonly log: Log;
  readonly typeOf: TypeOf;
  readonly timers: Timers;
  readonly random: Random;
  readonly onFailure: (error: unknown) => void;
  readonly bus?: Bus | undefined;
  readonly meter: Meter;
  readonly refusal?: () => Refusal | null;
  readonly steps?: readonly Step[] | undefined;
  readonly settings: {
    readonly heartbeatMs: number;
    readonly maxWindows: number;
    readonly maxChannels: number;
    readonly streamsPerSession: number;
    readonly newChannelsPerHour: number;
    readonly queueBytesPerWindow: number;
    readonly messagesPerSecond: number;
    readonly statesPerSecond: number;
    readonly stateBytes: number;
    readonly stateBytesPerSecond: number;
  };
}
interface Id {
  readonly client: number;
  readonly clock: number;
}
interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | {
    readonly key: PropertyKey;
  })[] | undefined;
}
interface Joining extends ClientIdentity {
  readonly expiresAt: number | null;
  readonly framing: Framing;
  readonly sink: Sink;
  readonly holds?: (deliveries: readonly Delivery[]) => boolean;
  readonly end: (bye: Bye) => void;
}
interface JsonBody {
  readonly data: unknown;
  readonly user?: string | undefined;
  readonly digest?: string | undefined;
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
}
interface JsonRule {
  readonly kind: 'json';
  readonly validate?: StandardSchema;
  readonly keep?: Keep;
  readonly latest?: boolean;
}
interface Keep {
  readonly messages?: number;
  readonly bytes?: number;
  readonly hours?: number;
}
interface KindRules<K extends Kind = Kind> {
  readonly fold?: Fold<K> | undefined;
  readonly drop?: 'oldest' | 'superseded';
  readonly body?: Check;
}
interface KoaContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  respond?: boolean;
}
interface Line extends LineFormat {
  readonly runs: readonly Run[];
}
interface LineFormat {
  readonly block: string;
  readonly align: string | null;
  readonly start?: number;
  readonly language?: string;
}
interface LinkMode extends TransportMode {
  readonly fallback: string | null;
}
interface Listening {
  readonly host?: string;
  readonly port: number;
  readonly http1Port: number;
  readonly cert: string;
  readonly key: string;
}
interface Log {
  readonly append: (draft: Draft, acceptedAt: number) => number | Promise<number>;
  readonly find: (wanted: Identified) => Promise<Message | null>;
  readonly read: (cursor: Cursor | null, channels: ReadonlySet<string>) => Promise<CatchUp>;
  readonly snapshot: (channels: ReadonlySet<string>) => Promise<Snapshot>;
  readonly readBefore: (channel: string, before: number, limit: number) => Promise<Earlier>;
  readonly numberAt: (channel: string, at: number) => Promise<number>;
  readonly channels: (prefix: string, before: number, limit: number) => Promise<readonly ChannelFigures[]>;
  readonly oldest: (channel: string, kind: Kind) => Promise<OldestContent>;
  readonly follow: (onMessage: OnMessage) => () => void;
  readonly heads: () => ReadonlyMap<string, number>;
  readonly close: () => Promise<void>;
}
interface LogFigures {
  readonly bytes?: Counts;
  readonly brokerHead?: Counts;
  readonly reconnects?: Counts;
  readonly queued?: Counts;
}
interface Marks {
  readonly bold?: true;
  readonly italic?: true;
  readonly underline?: true;
  readonly strike?: true;
  readonly code?: true;
  readonly script?: 'sub' | 'super';
  readonly link?: string;
  readonly image?: {
    readonly src: string;
    readonly alt: string;
  };
}
interface Message<K extends Kind = Kind> extends Draft<K> {
  readonly seq: number;
  readonly acceptedAt: number;
}
interface Meter {
  readonly stored: (ms: number) => void;
  readonly sent: (messages: number) => void;
  readonly omitted: () => void;
  readonly failed: () => void;
  readonly unrecovered: () => void;
  readonly ended: (code: ByeCode) => void;
}
interface Misfit {
  readonly path: string;
  readonly must: string;
}
interface MonitorParts {
  readonly timers: Timers;
  readonly windows: () => ReturnType<Hub['windows']>;
  readonly log: string;
  readonly health: Pick<Health, 'outage' | 'outages' | 'whyUnready'>;
  readonly losses?: (() => number) | undefined;
  readonly threads: readonly Pick<DocumentWorker, 'quarantined' | 'failed' | 'durations'>[];
  readonly heads: () => ReadonlyMap<string, number>;
  readonly logFigures: () => Promise<LogFigures>;
  readonly connections: () => Samples;
  readonly siblings?: Siblings | undefined;
}
interface MonitorProcess {
  readonly name: string;
  readonly uptimeMs: number;
  readonly seconds: readonly MonitorSecond[];
}
interface MonitorReply {
  readonly node: string;
  readonly log: string;
  readonly processes: readonly MonitorProcess[];
}
interface MonitorSecond {
  readonly at: number;
  readonly cpu: number;
  readonly rssBytes: number;
  readonly heapBytes: number;
  readonly loopDelayMs: Quantiles | null;
  readonly windows: Readonly<Record<string, number>>;
  readonly stored: number;
  readonly sent: number;
  readonly omitted: number;
  readonly backlogBytes: number;
  readonly latencyMs: Quantiles | null;
  readonly isLogUp: boolean;
  readonly quarantined: number;
}
interface Mounting {
  readonly router: Router;
  readonly onSocket: (path: string, handler: SocketHandler) => void;
  readonly hub: Hub;
  readonly timers: Timers;
  readonly bodies: Bodies$1;
  readonly budget: Budget;
  readonly admission: Admission;
  readonly limits: TransportLimits;
  readonly holdMs: number;
  readonly heartbeatMs: number;
}
interface OldestContent {
  readonly base: Message | null;
  readonly messages: readonly Message[];
  readonly after: Cursor;
}
interface OpenedLog {
  readonly log: Log;
  readonly bus?: Bus | undefined;
  readonly mostBytes?: number;
  readonly outage?: () => Outage | null;
  readonly lost?: Promise<string>;
  readonly losses?: () => number;
  readonly figures?: () => Promise<LogFigures>;
}
interface Opening {
  readonly query: URLSearchParams;
  readonly http: WindowHttp;
  readonly grant: Grant;
  readonly connection: object;
}
interface OriginRules {
  readonly ports: () => readonly number[];
  readonly allowedOrigins: readonly string[];
  readonly allowedHosts: readonly string[];
}
interface Outage {
  readonly reason: string;
  readonly since: number;
  readonly isCutOff: boolean;
}
interface Permit {
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly expiresAt?: number;
  readonly user?: string;
  readonly account?: string;
  readonly maxMessageBytes?: number;
}
interface Plain {
  readonly next: Map<number, number>;
  readonly owners: Map<number, string>;
  readonly own: Map<number, number[]>;
  readonly ends: FreeEnds;
  readonly depths: Depths;
  readonly foldedBytes: number;
  readonly newestSeq: number;
  readonly steps: number;
  readonly items: number;
}
interface Poll {
  readonly identity: ClientIdentity;
  readonly cursor: Cursor | null;
  readonly holdMs: number;
  readonly isFirst: boolean;
  readonly signal: AbortSignal;
}
interface PollReply {
  readonly cursor: string;
  readonly deliveries: readonly Delivery[];
}
interface PortSharing {
  readonly isFirst: boolean;
  readonly ticketKeys: Buffer;
}
interface Presence {
  readonly type: 'presence';
  readonly windows: number;
  readonly channels?: Readonly<Record<string, number>>;
  readonly browserHttp1Streams: number;
}
interface Quantiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}
interface Received<Data = unknown> extends JsonMessage<Data> {
  readonly kind: Kind;
}
interface Refused {
  readonly type: 'refused';
  readonly id: string | null;
  readonly code: string;
  readonly message: string;
  readonly retryAfterMs?: number;
}
interface RevocationBody {
  readonly revoked: readonly Revoked[];
}
interface Revoked {
  readonly user: string;
  readonly seq?: number;
  readonly at?: number;
}
interface Rewriting {
  readonly way: 'replace' | 'append';
  readonly lines: readonly Line[];
  readonly isPlain: boolean;
}
interface Rights {
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly maxMessageBytes: number | null;
  readonly user: string | null;
  readonly account: string | null;
}
interface Run {
  readonly text: string;
  readonly marks: Marks;
}
interface Schema {
  readonly checkType: (number: number) => void;
  readonly contentOf: (item: Y.Item) => 'shared' | 'own';
  readonly placeOf: (item: Y.Item) => Place;
}
interface ServedChannels {
  readonly typeOf: TypeOf;
  readonly typesWith: (documents: DocumentThreads | null) => TypeOf;
  readonly admission: Admission;
  readonly steps?: (log: Log) => readonly Step[];
}
interface ServingParts {
  readonly settings: EngineSettings;
  readonly channels: ServedChannels;
  readonly openDocuments: (() => DocumentThreads) | null;
  readonly dataFolder: string;
  readonly roomMaking: string;
  readonly connections: Pick<Connections, 'of'>;
  readonly countConnections: () => Readonly<Record<string, number>>;
  readonly authorize: 'everyone' | Authorize;
  readonly secret: string;
  readonly isOpenPath: (path: string) => boolean;
  readonly origins: OriginRules;
  readonly holdMs: number;
  readonly application: (serving: Serving) => Application | Promise<Application>;
  readonly onFailure: (code: OutputCode, what: string, error?: unknown) => void;
  readonly onCutOff: () => void;
  readonly siblings?: Siblings | undefined;
  readonly leads: boolean;
  readonly joinLog?: (() => Promise<OpenedLog>) | undefined;
  readonly hostLog?: ((opened: OpenedLog) => HostedLog | null) | undefined;
}
interface Siblings {
  readonly name: string;
  readonly count: number;
  readonly post: (note: object) => void;
  readonly follow: (onNote: (note: unknown) => void) => void;
  readonly sharing: PortSharing | null;
}
interface Sink {
  readonly write: (bytes: Buffer) => boolean;
}
interface Snapshot {
  readonly messages: readonly Message[];
  readonly head: Cursor;
}
interface Source {
  readonly pause: () => unknown;
  readonly resume: () => unknown;
}
interface StandardSchema {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Result | Promise<Result>;
  };
}
interface Stored {
  readonly seq: number;
}
interface Stored$1 {
  readonly type: 'stored';
  readonly id: string;
  readonly seq: number;
}
interface SubscriberHub {
  readonly queueBytes: number;
  readonly heartbeatMs: number;
  readonly stateBytes: number;
  readonly recent: RecentDeliveries;
  readonly log: Pick<Log, 'read'>;
  readonly reconnectDelayMs: () => number;
  readonly on: {
    readonly live: (subscriber: Subscriber) => void;
    readonly unrecovered: () => void;
    readonly omitted: () => void;
    readonly ended: (subscriber: Subscriber, code: ByeCode) => void;
    readonly failed: (error: unknown) => void;
  };
}
interface Takers {
  readonly takeRequest: TakeRequest;
  readonly takeUpgrade: TakeUpgrade;
  readonly takeConnect: TakeConnect;
}
interface TaskLimits {
  readonly documentSeconds: number;
  readonly documentMegabytes: number;
}
interface TicketGateParts {
  readonly authorize: Authorize;
  readonly secret: string;
  readonly now: Clock;
  readonly clock: Clock;
  readonly revocations: Pick<Revocations, 'position' | 'reachBack' | 'isRevoked'>;
  readonly onFailure: (error: unknown) => void;
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
interface Turns {
  readonly waiting: (() => void)[];
  readonly forget: () => void;
  areLast: boolean;
}
interface Update {
  readonly structs: Float64Array;
  readonly deletions: Float64Array;
  readonly bytes: number;
}
interface UpdateBody {
  readonly digest?: string;
  readonly update: string;
  readonly user?: string;
  readonly owners?: Readonly<Record<string, readonly number[]>>;
}
interface Welcome {
  readonly type: 'welcome';
  readonly window: string;
  readonly cursor: string;
  readonly recovered: boolean;
  readonly http: WindowHttp;
  readonly heartbeatMs: number;
  readonly stateBytes: number;
}
interface WindowMode extends LinkMode {
  readonly label: string;
  readonly uplink: 'xhr' | 'streamed' | 'socket';
}
interface WorkerParts {
  readonly tasks: URL;
  readonly limits: TaskLimits;
  readonly timers: Timers;
  readonly onQuarantined: (channel: string, error: TooCostly) => void;
}
interface Writing {
  readonly draft: Draft;
  readonly acceptedAt: number;
  readonly holder: Holder | undefined;
}
interface YjsRule {
  readonly kind: 'yjs';
  readonly owners?: boolean;
}
type Answer = Permit | null | undefined | false;
type Answer$1 = (request: AnyRequest, response: ServerResponse | Http2ServerResponse) => void;
type AnyRequest = IncomingMessage | Http2ServerRequest;
type AnyResponse = ServerResponse | Http2ServerResponse;
type AnyServer = EventEmitter;
type Authorize = (asking: {
  readonly headers: IncomingHttpHeaders;
  readonly token: string | null;
}) => Answer | Promise<Answer>;
type BudgetLimits = Pick<EngineSettings['limits'], 'connectionBytes' | 'unfinishedBytes'>;
type ByHttp<Place> = Readonly<Record<HttpVersion, Place> & Partial<Record<WindowHttp, Place>>>;
type ByeCode = keyof typeof byeCodes;
type Cancel = () => void;
type ChannelRule = JsonRule | YjsRule | ChannelType;
type Check = (value: unknown) => Misfit | null;
type Client = readonly unknown[];
type Clock = () => number;
type Counts = Readonly<Record<string, number>>;
type Depths = Map<number, {
  readonly clocks: number[];
  readonly depths: number[];
}>;
type Documents = Pick<DocumentWorker, 'run' | 'read' | 'mustBeReadable' | 'isQuarantined' | 'for'>;
type DownFrame = Welcome | {
  readonly type: 'message';
  readonly message: Message;
} | Stored$1 | Refused | Presence | AwarenessFrame | Bye | {
  readonly type: 'omitted';
  readonly count: number;
} | {
  readonly type: 'heartbeat';
  readonly newest: number;
} | ClockAnswer;
type Durability = 'process' | 'machine';
type EngineSettings = Immutable<z.output<typeof engineSchema>>;
type Fold<K extends Kind> = (messages: readonly Message<K>[]) => Bodies[K] | Promise<Bodies[K]>;
type FreeEnds = Map<number, Set<number>>;
type Handlers = ReturnType<typeof handlersBelow>;
type HttpVersion = (typeof httpVersions)[number];
type Identified = Pick<Draft, 'channel' | 'id' | 'from'>;
type Immutable<Value> = Value extends readonly (infer Item)[] ? readonly Immutable<Item>[] : Value extends object ? { readonly [Key in keyof Value]: Immutable<Value[Key]>; } : Value;
type Input<Name extends TaskName> = Parameters<Tasks[Name]>;
type Kind = keyof Bodies;
type Limits = Pick<EngineSettings & EngineSettings['limits'], 'heartbeatMs' | 'bodySeconds' | 'streamsPerSession'>;
type ListenerSettings = Pick<EngineSettings, 'heartbeatMs'> & EngineSettings['limits'] & {
  readonly host: string;
  readonly port: number;
  readonly http1Port: number;
  readonly cert: string;
  readonly key: string;
  readonly sharing?: PortSharing | null;
};
type Listening$1 = Pick<ListenerSettings, 'host' | 'port' | 'http1Port' | 'cert' | 'key'>;
type LogSettings = Pick<EngineSettings, 'limits' | 'storage' | 'broker'>;
type Messages = readonly Message[];
type OfEngine = 'connections' | 'countConnections' | 'onCutOff' | 'siblings' | 'leads' | 'joinLog' | 'hostLog';
type OnMessage = (message: Message, cursor: string, text?: string) => void;
type Output<Name extends TaskName> = ReturnType<Tasks[Name]>;
type OutputCode = keyof typeof outputLevels;
type Place = (typeof places)[number];
type PortServer = Http2SecureServer | Server;
type Ports = ByHttp<number>;
type Prepare = (content: Content, messages: () => readonly Message[], store: Store) => Promise<void> | null;
type Random = () => number;
type RefusalCode = keyof typeof statuses;
type Result = {
  readonly value: unknown;
  readonly issues?: undefined;
} | {
  readonly issues: readonly Issue[];
};
type Samples = number | Readonly<Record<string, number>>;
type SocketHandler = (socket: WebSocket, opening: SocketOpening) => void;
type SocketOpening = Opening & {
  readonly source: Readable;
};
type Step = (writing: Writing, next: Write) => number | Promise<number>;
type Storage = 'memory' | {
  readonly kind: 'sqlite';
  readonly folder: string;
  readonly durability?: Durability;
} | {
  readonly kind: 'nats';
  readonly servers: readonly string[];
  readonly stream?: string;
  readonly replicas?: number;
  readonly credentialsFile?: string;
} | {
  readonly kind: 'sqs';
  readonly folder: string;
  readonly durability?: Durability;
  readonly queue?: string;
  readonly region?: string;
  readonly endpoint?: string;
};
type Store = (draft: Draft, acceptedAt: number) => number | Promise<number>;
type TakeConnect = (request: Http2ServerRequest, response: Http2ServerResponse | Duplex) => void;
type TakeRequest = (...given: [...Parameters<Answer$1>, answer?: Answer$1]) => void;
type TakeUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
type TaskName = keyof Tasks;
type Tasks = typeof tasks$1;
type TextType = (typeof textTypes)[number];
type TransportLimits = Pick<EngineSettings['limits'], 'maxMessageBytes' | 'channelsPerWindow' | 'bodySeconds' | 'stateBytes'>;
type TransportName = (typeof transportNames)[number];
type TypeOf = (channel: string) => ChannelType;
type Who = {
  readonly user: string;
} | {
  readonly client: string;
};
type WindowHttp = (typeof windowHttpVersions)[number];
type Write = (writing: Writing) => number | Promise<number>;
