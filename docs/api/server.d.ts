// The types of @crosswind/server, written by `npm run api`.

declare class BadUpdate extends Error {
  readonly name = "BadUpdate";
}
declare class Caller {
  #private;
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly user: string | null;
  readonly expiresAt: number | null;
  readonly connection: object;
  mayRead(channel: string): boolean;
  mayWrite(channel: string): boolean;
  mustRead(channel: string): void;
  mustWrite(channel: string): void;
  readBody({ maxBytes }?: {
    readonly maxBytes?: number;
  }): Promise<Buffer>;
  readJson({ maxBytes, what }?: {
    readonly maxBytes?: number;
    readonly what?: string;
  }): Promise<unknown>;
  draft(given: {
    readonly id: string | undefined;
    readonly from: string | undefined;
    readonly channel: string;
    readonly kind: string;
    readonly at: number;
    readonly body: object;
  }): Draft;
  publish(draft: Draft): Promise<Stored$1>;
  mustPace(what: string): void;
}
declare class ConfigError extends Error {
  name: string;
}
declare class Crosswind<Declared = any> {
  #private;
  readonly handler: Handlers['handler'];
  readonly express: Handlers['express'];
  readonly koa: Handlers['koa'];
  readonly fastify: Handlers['fastify'];
  private constructor();
  readonly attach: (server: AnyServer, how?: {
    readonly requests?: boolean;
  }) => void;
  get workers(): number;
  get storage(): string;
  get isWorker(): boolean;
  readonly listen: ({ host, port, http1Port, cert, key }: Listening, answer?: Answer$1) => Promise<Ports>;
  readonly ready: () => {
    readonly isReady: boolean;
    readonly isDraining: boolean;
    readonly reason: string | null;
  };
  readonly mustBeCurrent: () => void;
  get lost(): Promise<string>;
  get limits(): {
    readonly maxMessageBytes: number;
    readonly maxWindows: number;
    readonly maxConnections: number;
    readonly maxChannels: number;
    readonly newChannelsPerHour: number;
    readonly channelsPerWindow: number;
    readonly messagesPerSecond: number;
    readonly statesPerSecond: number;
    readonly stateBytes: number;
    readonly stateBytesPerSecond: number;
    readonly bodySeconds: number;
    readonly connectionBytes: number;
    readonly unfinishedBytes: number;
    readonly queueBytesPerWindow: number;
    readonly streamsPerSession: number;
    readonly logMessages: number;
    readonly logBytes: number;
    readonly memoryMessages: number;
    readonly memoryBytes: number;
    readonly logHours: number;
    readonly documentBytes: number;
    readonly documentSeconds: number;
    readonly documentMegabytes: number;
    readonly outboxMessages: number;
    readonly outboxBytes: number;
  };
  readonly clients: () => readonly ClientInfo[];
  readonly clientCount: (channel?: NameIn<Declared>) => number;
  readonly clientsOn: (channel: NameIn<Declared>) => Promise<readonly ConnectedClient[]>;
  readonly watchClients: (pattern: string, listener: ClientListener) => (() => void);
  readonly monitor: ({ after }?: {
    readonly after?: number;
  }) => MonitorReply;
  readonly onLog: (begin: LogHook) => void;
  readonly caller: (request: AnyRequest) => Promise<Caller>;
  readonly guard: (app: KoaLike, { isOpen }?: {
    readonly isOpen?: (path: string) => boolean;
  }) => void;
  readonly answer: (ctx: Answering, characters: number, parts: () => AnswerParts) => void;
  readonly refuse: (request: AnyRequest, response: ServerResponse | Http2ServerResponse, error: unknown) => void;
  readonly rateLimit: (perSecond: number, sentence: string) => Limiter;
  readonly metrics: () => Promise<string>;
  readonly publish: Declaring<Declared>['publish'];
  readonly sendVolatile: Declaring<Declared>['sendVolatile'];
  readonly change: Declaring<Declared>['change'];
  readonly erase: (channel: NameIn<Declared>, seq: number) => Promise<Stored>;
  readonly on: <Data = unknown>(pattern: string, listener: MessageListener<Data>) => (() => void);
  readonly read: Declaring<Declared>['read'];
  readonly readBack: Declaring<Declared>['readBack'];
  readonly channels: (options?: {
    readonly prefix?: string;
    readonly before?: number;
    readonly limit?: number;
  }) => Promise<readonly ChannelInfo<NameIn<Declared>>[]>;
  readonly document: (channel: NameIn<Declared>) => Promise<Doc>;
  readonly history: (channel: NameIn<Declared>) => AsyncGenerator<DocumentUpdate>;
  readonly readHistory: (channel: NameIn<Declared>, { after }?: {
    readonly after?: string | null;
  }) => Promise<HistoryPortion | null>;
  readonly documentThreads: <Own extends Tasks = Tasks>() => DocumentThreads<Own>;
  readonly backup: (file: string) => Promise<number>;
  readonly deleteChannel: (channel: NameIn<Declared>) => Promise<boolean>;
  readonly revoke: (user: string) => Promise<void>;
  readonly disconnect: (who: Who) => void;
  readonly close: ({ drainMs }?: {
    readonly drainMs?: number;
  }) => Promise<void>;
}
declare class LogFileError extends Error {
  readonly name = "LogFileError";
}
declare class Output<Own extends string = never> {
  #private;
  constructor(parts?: Partial<OutputParts>);
  with<More extends string>(levels: Readonly<Record<More, Level>>): Output<Own | More>;
  name(name: string): void;
  use(format: 'text' | 'json', out?: Destination): void;
  say(code: OutputCode | Own, message: string, fields?: Fields, text?: string): void;
  count(code: OutputCode | Own): void;
  incident(code: OutputCode | Own, what: string, cause?: unknown): void;
  trace(list?: string, saysUnknown?: boolean): void;
  incidents(): Readonly<Record<string, number>>;
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
    readonly code: "aborted" | "application-failed" | "bad-channel" | "bad-frame" | "bad-query" | "bad-request" | "bad-shape" | "bad-update" | "declined" | "document-changed" | "document-deleted" | "document-full" | "draining" | "foreign-host" | "foreign-origin" | "headers-too-large" | "history-erased" | "id-taken" | "internal" | "invitation-expired" | "invitation-invalid" | "log-full" | "log-unavailable" | "no-session" | "no-stream" | "not-acceptable" | "not-found" | "not-invited-there" | "not-json" | "not-your-client" | "not-your-message" | "not-your-name" | "open-access" | "other-session" | "other-user" | "read-only-channel" | "read-only-invitation" | "reserved-name" | "session-expired" | "shared-document" | "silent" | "too-costly" | "too-fast" | "too-large" | "too-many-channels" | "too-many-connections" | "too-many-windows" | "too-much-begun" | "too-slow" | "update-gap" | "upgrade-required" | "wrong-method" | "wrong-type";
    readonly message: string;
    readonly retryAfterMs?: number;
  };
}
declare class StorageUnfit extends Error {}
declare class StoreConnection<Client> {
  #private;
  constructor(parts: StoreConnectionParts<Client>);
  get reconnects(): number;
  use<Result>(work: (client: Client) => Promise<Result>): Promise<Result>;
  drop(client: Client): Promise<void>;
  close(): Promise<void>;
}
declare class TooCostly extends Error {
  readonly name = "TooCostly";
}
declare const anySchema: Schema;
declare const boolean: Check;
declare const contentNumbers: {
  gone: number;
  deleted: number;
  string: number;
  format: number;
  any: number;
  document: number;
  skip: number;
};
declare const createCrosswind: (options: CrosswindOptions) => Promise<Crosswind>;
declare const defineChannels: <const Rules extends Readonly<Record<string, ChannelRule>>>(rules: Rules) => Rules;
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
declare const engineShape: {
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
};
declare const fieldNotes: z.core.$ZodRegistry<FieldNotes, z.core.$ZodType<unknown, unknown, z.core.$ZodTypeInternals<unknown, unknown>>>;
declare const group: <Shape extends z.ZodRawShape>(shape: Shape) => z.ZodPrefault<z.ZodObject<{ -readonly [P in keyof Shape]: Shape[P]; }, z.core.$strict>>;
declare const httpVersions: readonly ['2', '1.1'];
declare const isWorker: () => boolean;
declare const matching: (must: string, fits: (text: string) => boolean) => Check;
declare const number: Check;
declare const orNull: (check: Check) => Check;
declare const output: Output<never>;
declare const outputLevels: {
  readonly 'not-started': 'fatal';
  readonly crashed: 'fatal';
  readonly 'process-warning': 'warn';
  readonly 'message-limit-lowered': 'info';
  readonly 'connections-limited': 'warn';
  readonly 'trace-unknown': 'warn';
  readonly 'worker-ended': 'error';
  readonly 'part-not-closed': 'error';
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
declare const path$1: () => z.ZodDefault<z.ZodNullable<z.ZodString>>;
declare const regions: readonly ['shared', 'own'];
declare const rule: (must: string, fits: (value: unknown) => boolean) => Check;
declare const shorten: (value: unknown) => string;
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
declare const text: Check;
declare const windowHttpVersions: readonly ['3', '2', '1.1'];
declare function bearerIn({ authorization }: IncomingHttpHeaders): string | null;
declare function checkLogFile(given: string): void;
declare function checked<Schema extends z.ZodObject>(schema: Schema, keys: readonly ConfigKey[], given: unknown, from: string, wayOut: string): z.output<Schema>;
declare function choice<const Value extends string | number>(values: readonly Value[], initial: NoInfer<Value>): z.ZodDefault<z.ZodPreprocess<z.ZodLiteral<Value>, unknown>>;
declare function copyLogFile(file: string, copy: string): number;
declare function createTestCrosswind({ path, authorize, application, ...options }: TestOptions): Promise<TestCrosswind>;
declare function field<Schema extends z.ZodType>(schema: Schema, allowed: string, fromText?: FieldNotes['fromText']): Schema;
declare function flagOf(path: readonly string[]): string;
declare function handlersBelow(path: string, { handleRequest, takes }: RequestsOf): {
  handler: (request: AnyRequest, response: AnyResponse, next?: () => void) => void;
  express: () => (request: AnyRequest, response: AnyResponse, next?: () => void) => void;
  koa: () => (ctx: KoaContext, next: () => Promise<unknown>) => Promise<void>;
  fastify(instance: FastifyLike): Promise<void>;
};
declare function isLocked(given: string): boolean;
declare function jsonPieces(value: unknown): Generator<string>;
declare function keysOf(schema: z.ZodObject, { prefix }?: {
  readonly prefix?: string;
}): ConfigKey[];
declare function list(most: number, check: Check): Check;
declare function misfitsOfLimits(limits: EngineSettings['limits'], originOf: (key: string) => string): Generator<string>;
declare function newEpoch(random: Random): string;
declare function notAllowed({ key, allowed }: ConfigKey, value: unknown, from: string): ConfigError;
declare function object(required: Fields$1, optional?: Fields$1): Check;
declare function performTasks(schema: Schema, own?: Tasks): void;
declare function printAs(format: 'text' | 'json', { workers }?: Pick<CrosswindOptions, 'workers'>): void;
declare function quantity(from: number, to: number, initial: number): z.ZodDefault<z.ZodNumber>;
declare function reportFailedStart(sentence: string, error: unknown): void;
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
declare function text$1(allowed: string, initial: string, pattern?: RegExp): z.ZodDefault<z.ZodString>;
declare function whole(from: number, to: number, initial: number): z.ZodDefault<z.ZodInt>;
declare function wholeOrAuto(from: number, to: number, initial: number): z.ZodDefault<z.ZodUnion<readonly [z.ZodLiteral<"auto">, z.ZodInt]>>;
declare namespace documents_d_exports {
  export { BadUpdate, Schema, Tasks, anySchema, contentNumbers, performTasks, shorten };
}
declare namespace index_d_exports {
  export { AnyRequest, Asking, Authorize, Before, Bodies, Caller, Changed, ChannelInfo, ChannelRule, ChannelType, Check, ClientInfo, ClientListener, ClientMovement, ConnectedClient, Content, Crosswind, CrosswindOptions, DocumentOptions, DocumentUpdate, Documents, Draft, Expiry, Fold, Gate, JsonRule, Keep, Kind, KindRules, Limiter, Listening, LogHook, Message, MessageListener, Misfit, Movement, Permit, Prepare, Publication, ReadableLog, Received, Refusal, RefusalCode, Revoked, SharedStorage, ShowRefusal, StandardSchema, Storage, Store, Stored, TooCostly, UpdateBody, YjsRule, bearerIn, createCrosswind, defineChannels, jsonPieces, serverOptions };
}
declare namespace log_file_d_exports {
  export { LogFileError, checkLogFile, copyLogFile, isLocked };
}
declare namespace program_d_exports {
  export { Output, isWorker, output, printAs, reportFailedStart };
}
declare namespace settings_d_exports {
  export { ConfigError, ConfigKey, Immutable, checked, choice, engineShape, field, fieldNotes, flagOf, group, keysOf, misfitsOfLimits, notAllowed, path$1 as path, quantity, text$1 as text, whole, wholeOrAuto };
}
declare namespace shapes_d_exports {
  export { Check, Misfit, boolean, list, matching, number, object, orNull, rule, text };
}
declare namespace storage_d_exports {
  export { KeptText, LogStore, MessageMark, SharedStorage, StorageUnfit, StoreConnection, StoreDraft, StoreEvents, StorePage, StoreState, StoredText, newEpoch };
}
declare namespace test_server_d_exports {
  export { TestCrosswind, TestOptions, createTestCrosswind };
}
export { index_d_exports as ".", documents_d_exports as "./documents", log_file_d_exports as "./log-file", program_d_exports as "./program", settings_d_exports as "./settings", shapes_d_exports as "./shapes", storage_d_exports as "./storage", test_server_d_exports as "./testing" };
import * as Y from "yjs";
import { Doc } from "yjs";
import { Duplex } from "node:stream";
import { EventEmitter } from "node:events";
import { Http2ServerRequest, Http2ServerResponse, IncomingHttpHeaders } from "node:http2";
import { IncomingMessage, Server, ServerResponse } from "node:http";
import { z } from "zod";
interface Answering {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  body?: unknown;
}
interface Asking {
  readonly request: AnyRequest;
  readonly headers: IncomingHttpHeaders;
  readonly token: string | null;
}
interface Bodies {
  update: UpdateBody;
  json: JsonBody;
  change: ChangeBody;
  erasure: ErasureBody;
  revocation: RevocationBody;
}
interface CatchUp extends Snapshot {
  readonly recovered: boolean;
  readonly reached: Cursor;
}
interface ChangeBody extends Content$1 {
  readonly seq: number;
  readonly user?: string | undefined;
}
interface ChannelFigures {
  readonly name: string;
  readonly head: number;
  readonly messages: number;
  readonly bytes: number;
}
interface ChannelInfo<Name = string> {
  readonly name: Name;
  readonly newest: number;
  readonly messages: number;
  readonly bytes: number;
}
interface ChannelType {
  readonly name: string;
  readonly kinds: { readonly [K in Kind]?: KindRules<K>; };
  readonly yjs?: YjsRules | undefined;
  readonly keep?: Keep | undefined;
  readonly gate?: Gate | undefined;
  readonly refuse?: (draft: Draft, content: Content) => Refusal | null;
  readonly prepare?: Prepare | undefined;
  readonly expiry?: (content: Content) => Expiry;
  readonly showsWindows?: boolean;
  readonly state?: Check;
  readonly shows?: (state: unknown) => unknown;
}
interface ClientInfo {
  readonly id: string;
  readonly channels: readonly string[];
  readonly mode: string;
  readonly backlogBytes: number;
  readonly droppedMessages: number;
  readonly heardAt: number | null;
}
interface ClientMovement {
  readonly movement: Movement;
  readonly channel: string;
  readonly client: ConnectedClient;
}
interface ConfigKey extends FieldNotes {
  readonly key: string;
  readonly meaning: string;
  readonly path: readonly string[];
  readonly flag: string;
  readonly variable: string;
  readonly initial: unknown;
  readonly schema: z.ZodType;
  readonly group: string | null;
}
interface ConnectedClient {
  readonly id: string;
  readonly user: string | null;
  readonly mode: string;
  readonly since: number;
}
interface Content {
  readonly channel: string;
  readonly kinds: readonly Kind[];
  readonly newest: <K extends Kind>(kind: K) => Message<K> | undefined;
  readonly message: (seq: number) => Message | undefined;
}
interface Content$1 {
  readonly data?: unknown;
  readonly bytes?: string | undefined;
  readonly digest?: string | undefined;
}
interface CrosswindOptions {
  readonly path: string;
  readonly channels: Readonly<Record<string, ChannelRule>>;
  readonly authorize: 'everyone' | Authorize;
  readonly secret?: string;
  readonly storage?: Storage;
  readonly documents?: DocumentOptions;
  readonly workers?: number | 'auto';
  readonly limits?: Partial<EngineSettings['limits']>;
  readonly heartbeatMs?: number;
  readonly allowedOrigins?: readonly string[];
  readonly allowedHosts?: readonly string[];
  readonly allowedPorts?: readonly number[];
  readonly reservedNames?: readonly string[];
  readonly holdMs?: number;
  readonly drainMs?: number;
  readonly roomMaking?: string;
  readonly showRefusal?: ShowRefusal;
  readonly signal?: AbortSignal | undefined;
  readonly onFailure?: (error: unknown) => void;
}
interface Cursor {
  readonly epoch: string;
  readonly seq: number;
}
interface Declaring<Declared> {
  publish<Name extends NameIn<Declared>>(channel: Name, data: SentOf<Declared, Name>, options?: Publishing): Promise<Stored>;
  sendVolatile<Name extends NameIn<Declared>>(channel: Name, data: SentOf<Declared, Name>, options?: Omit<Publishing, 'id'>): Promise<void>;
  change<Name extends NameIn<Declared>>(channel: Name, seq: number, data: SentOf<Declared, Name>): Promise<Stored>;
  read<Name extends NameIn<Declared>>(channel: Name, options?: {
    readonly after?: number;
  }): AsyncGenerator<Received<DataOf<Declared, Name>>>;
  readBack<Name extends NameIn<Declared>>(channel: Name, options?: {
    readonly before?: number;
    readonly limit?: number;
  }): Promise<ReceivedPast<DataOf<Declared, Name>>>;
}
interface Destination {
  write(text: string): unknown;
}
interface DocumentOptions {
  readonly schema?: Schema;
  readonly tasks?: URL;
}
interface DocumentThreads<Own extends Tasks> {
  readonly stored: Documents<Own>;
  readonly sent: Documents<Own>;
}
interface DocumentUpdate {
  readonly seq: number;
  readonly from: string;
  readonly user: string | undefined;
  readonly at: number;
  readonly update: Uint8Array;
}
interface Documents<Own extends Tasks> {
  run<Name extends keyof Own & string>(name: Name, ...input: Parameters<Own[Name]>): Promise<ReturnType<Own[Name]>>;
  read<Name extends keyof Own & string>(channel: string, name: Name, ...input: Parameters<Own[Name]>): Promise<ReturnType<Own[Name]>>;
  mustBeReadable(channel: string): void;
  isQuarantined(channel: string): boolean;
  for(...client: Client): Documents<Own>;
  within(share: number): Documents<Own>;
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
interface Earlier {
  readonly messages: readonly Message[];
  readonly isOldest: boolean;
  readonly head: Cursor;
}
interface EndpointHandlers extends ServerHandlers {
  readonly takes: (request: AnyRequest) => boolean;
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
interface FieldNotes {
  readonly allowed: string;
  readonly fromText: (text: string) => unknown;
}
interface Gate {
  readonly pass: (draft: Draft, acceptedAt: number, store: Store) => number | Promise<number>;
}
interface HistoryPortion {
  readonly base: HistoryUpdate | null;
  readonly updates: readonly HistoryUpdate[];
  readonly next: string | null;
}
interface HistoryUpdate {
  readonly seq: number;
  readonly from: string;
  readonly user?: string | undefined;
  readonly acceptedAt: number;
  readonly update: string;
}
interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | {
    readonly key: PropertyKey;
  })[] | undefined;
}
interface JsonBody extends Content$1 {
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
interface JsonRule {
  readonly kind: 'json';
  readonly validate?: StandardSchema;
  before?(message: Publication): Changed | Promise<Changed>;
  readonly presence?: StandardSchema;
  readonly keep?: Keep;
  readonly latest?: boolean | {
    readonly by: string;
  };
  readonly changes?: boolean | 'server';
}
interface Keep {
  readonly messages?: number;
  readonly bytes?: number;
  readonly hours?: number;
}
interface KeptText {
  readonly name: string;
  readonly text: string;
}
interface KindRules<K extends Kind = Kind> {
  readonly fold?: Fold<K> | undefined;
  readonly drop?: 'oldest' | 'superseded';
  readonly by?: string | undefined;
  readonly refuse?: ChannelType['refuse'];
  readonly body?: Check;
}
interface KoaContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  respond?: boolean;
}
interface KoaLike {
  use(middleware: (ctx: any, next: () => Promise<any>) => any): unknown;
  on(event: 'error', listener: (error: unknown) => void): unknown;
}
interface Listening {
  readonly host?: string;
  readonly port: number;
  readonly http1Port: number;
  readonly cert: string;
  readonly key: string;
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
interface Message<K extends Kind = Kind> extends Draft<K> {
  readonly seq: number;
  readonly acceptedAt: number;
}
interface MessageMark {
  readonly key: string;
  readonly acceptedAt: number;
}
interface Misfit {
  readonly path: string;
  readonly must: string;
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
interface OldestContent {
  readonly base: Message | null;
  readonly messages: readonly Message[];
  readonly after: Cursor;
}
interface OutputParts {
  readonly out: Destination;
  readonly err: Destination;
  readonly later: (run: () => void, delayMs: number) => void;
  readonly now: Clock;
}
interface Permit {
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly expiresAt?: number;
  readonly user?: string;
  readonly account?: string;
  readonly maxMessageBytes?: number;
}
interface Publication<Data = unknown> {
  readonly channel: string;
  readonly changes?: number;
  readonly data: Data;
  readonly id: string;
  readonly from: string;
  readonly user: string | null;
  readonly at: number;
}
interface Publishing {
  readonly id?: string;
  readonly user?: string;
  readonly kind?: Kind;
  readonly from?: string;
  readonly at?: number;
}
interface Quantiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}
interface ReadableLog {
  readonly find: (wanted: Identified) => Promise<Message | null>;
  readonly read: (cursor: Cursor | null, channels: ReadonlySet<string>) => Promise<CatchUp>;
  readonly snapshot: (channels: ReadonlySet<string>) => Promise<Snapshot>;
  readonly readBefore: (channel: string, before: number, limit: number, kind?: Kind) => Promise<Earlier>;
  readonly numberAt: (channel: string, at: number) => Promise<number>;
  readonly channels: (prefix: string, before: number, limit: number) => Promise<readonly ChannelFigures[]>;
  readonly oldest: (channel: string, kind: Kind) => Promise<OldestContent>;
  readonly follow: (onMessage: OnMessage) => () => void;
  readonly heads: () => ReadonlyMap<string, number>;
}
interface Received<Data = unknown> extends JsonMessage<Data> {
  readonly kind: Kind;
}
interface ReceivedPast<Data> {
  readonly messages: readonly Received<Data>[];
  readonly cursor: string;
  readonly hasEarlier: boolean;
}
interface RevocationBody {
  readonly revoked: readonly Revoked[];
}
interface Revoked {
  readonly user: string;
  readonly seq?: number;
  readonly at?: number;
}
interface Schema {
  readonly checkType: (number: number) => void;
  readonly contentOf: (item: Y.Item) => 'shared' | 'own';
  readonly regionOf: (item: Y.Item) => Region;
}
interface ServerHandlers {
  readonly handleRequest: RequestHandler;
  readonly handleUpgrade: UpgradeHandler;
  readonly handleConnect: ConnectHandler;
}
interface SharedStorage {
  readonly kind: 'shared';
  readonly name: string;
  readonly place: string;
  readonly connect: (events: StoreEvents) => LogStore;
}
interface ShownRefusal {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
}
interface Snapshot {
  readonly messages: readonly Message[];
  readonly head: Cursor;
}
interface StandardSchema {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult | Promise<SchemaResult>;
  };
}
interface StoreConnectionParts<Client> {
  readonly addresses: readonly string[];
  readonly open: (address: string, onBroken: () => void) => Promise<Client>;
  readonly end: (client: Client) => unknown;
  readonly onReopened?: () => void;
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
interface Stored {
  readonly seq: number;
}
interface Stored$1 {
  readonly type: 'stored';
  readonly id: string;
  readonly seq: number;
}
interface StoredText {
  readonly seq: number;
  readonly text: string;
}
interface TestCrosswind extends AsyncDisposable {
  readonly crosswind: Crosswind;
  readonly url: string;
  now(): number;
  advance(byMs: number): void;
  use<Closable extends {
    close(): unknown;
  }>(closable: Closable): Closable;
  close(): Promise<void>;
}
interface TestOptions extends Omit<CrosswindOptions, 'path' | 'authorize' | 'storage' | 'workers'> {
  readonly path?: string;
  readonly authorize?: CrosswindOptions['authorize'];
  readonly application?: (crosswind: Crosswind, now: Clock) => Server | Promise<Server>;
}
interface Typed<Input, Output> {
  readonly '~standard': {
    readonly types?: {
      readonly input: Input;
      readonly output: Output;
    } | undefined;
  };
}
interface UpdateBody {
  readonly digest?: string;
  readonly update: string;
  readonly user?: string;
  readonly owners?: Readonly<Record<string, readonly number[]>>;
}
interface YjsRule extends YjsRules {
  readonly kind: 'yjs';
}
interface YjsRules {
  readonly owners?: boolean;
}
type Answer = Permit | null | undefined | false;
type Answer$1 = (request: AnyRequest, response: ServerResponse | Http2ServerResponse) => void;
type AnswerParts = Iterable<string | Buffer> | AsyncIterable<string | Buffer>;
type AnyRequest = IncomingMessage | Http2ServerRequest;
type AnyResponse = ServerResponse | Http2ServerResponse;
type AnyServer = EventEmitter;
type Authorize = (asking: Asking) => Answer | Promise<Answer>;
type Before<Data = unknown> = (message: Publication<Data>) => Changed | Promise<Changed>;
type ByHttp<Place> = Readonly<Record<HttpVersion, Place> & Partial<Record<WindowHttp, Place>>>;
type Changed = {
  readonly data: unknown;
} | undefined | void;
type ChannelRule = JsonRule | YjsRule | ChannelType;
type Check = (value: unknown) => Misfit | null;
type Client = readonly unknown[];
type ClientListener = (moved: ClientMovement) => unknown;
type Clock = () => number;
type ConnectHandler = (request: Http2ServerRequest, response: Http2ServerResponse | Duplex) => void;
type Counts = Readonly<Record<string, number>>;
type DataOf<Declared, Name> = (RuleOf<Declared, Name> extends {
  readonly validate: Typed<infer _Input, infer Output>;
} ? Output : unknown) | Erased<RuleOf<Declared, Name>>;
type DeclaredName<Declared> = Matches<keyof Declared>;
type Durability = 'process' | 'machine';
type End = () => void | Promise<void>;
type EngineSettings = Immutable<z.output<typeof engineSchema>>;
type Erased<Rule> = Rule extends {
  readonly changes: infer Changes;
} ? Changes extends true | 'server' ? undefined : never : never;
type Fields = Readonly<Record<string, unknown>>;
type Fields$1 = Readonly<Record<string, Check>>;
type Fold<K extends Kind> = (messages: readonly Message<K>[]) => Bodies[K] | Promise<Bodies[K]>;
type Handlers = ReturnType<typeof handlersBelow>;
type HttpVersion = (typeof httpVersions)[number];
type Identified = Pick<Draft, 'channel' | 'id' | 'from'>;
type Immutable<Value> = Value extends readonly (infer Item)[] ? readonly Immutable<Item>[] : Value extends object ? { readonly [Key in keyof Value]: Immutable<Value[Key]>; } : Value;
type Kind = keyof Bodies;
type Level = 'info' | 'warn' | 'error' | 'fatal';
type Limiter = (caller: Pick<Caller, 'connection'>) => void;
type LogHook = (log: ReadableLog) => End | undefined;
type Matches<Pattern> = Pattern extends `${infer Prefix}*` ? `${Prefix}${string}` : Pattern;
type MessageListener<Data = unknown> = (message: Received<Data>) => unknown;
type Movement = 'joined' | 'left';
type NameIn<Declared> = unknown extends Declared ? string : DeclaredName<Declared> & string;
type OnMessage = (message: Message, cursor: string, text?: string) => void;
type OutputCode = keyof typeof outputLevels;
type Ports = ByHttp<number>;
type Prepare = (content: Content, messages: () => readonly Message[], store: Store) => Promise<void> | null;
type Random = () => number;
type RefusalCode = keyof typeof statuses;
type Region = (typeof regions)[number];
type RequestHandler = (...given: [...Parameters<Answer$1>, beside?: Answer$1]) => void;
type RequestsOf = Pick<EndpointHandlers, 'handleRequest' | 'takes'>;
type RuleOf<Declared, Name> = { [Pattern in keyof Declared]: Name extends Matches<Pattern> ? Declared[Pattern] : never; }[keyof Declared];
type SchemaResult = {
  readonly value: unknown;
  readonly issues?: undefined;
} | {
  readonly issues: readonly Issue[];
};
type SentOf<Declared, Name> = RuleOf<Declared, Name> extends {
  readonly validate: Typed<infer Input, infer _Output>;
} ? Input : unknown;
type ShowRefusal = (refusal: Refusal) => ShownRefusal;
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
  readonly folder?: string;
  readonly durability?: Durability;
  readonly queue?: string;
  readonly region?: string;
  readonly endpoint?: string;
  readonly visibilitySeconds?: number;
  readonly maxReceives?: number;
} | SharedStorage;
type Store = (draft: Draft, acceptedAt: number) => number | Promise<number>;
type Tasks = Readonly<Record<string, (...input: never[]) => unknown>>;
type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
type Who = {
  readonly user: string;
} | {
  readonly client: string;
};
type WindowHttp = (typeof windowHttpVersions)[number];
