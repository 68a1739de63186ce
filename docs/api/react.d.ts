// The types of @crosswind/react, written by `npm run api`.

declare const hooksOf: <Declared>() => DeclaredHooks<Declared>;
declare function ConnectionProvider<Declared>({ connect, children }: ConnectionProviderProps<Declared>): ReactElement;
declare function useChannel<Data>(name: string, options?: ChannelOptions<Data>): UsedChannel<Data>;
declare function useConnection(): ConnectionSnapshot & Pick<ConnectionStore, 'retry'>;
declare function useDocument(name: string): DocumentSnapshot;
declare function usePresence<State>(name: string): UsedPresence<State>;
declare function useStore<Snapshot>({ subscribe, getSnapshot, getServerSnapshot }: Store<Snapshot>): Snapshot;
declare function useStores(): Stores;
declare function useVolatile<Data>(name: string, listener: (message: VolatileMessage<Data>) => void): void;
declare namespace document_d_exports {
  export { useDocument };
}
declare namespace index_d_exports {
  export { ConnectionProvider, ConnectionProviderProps, DeclaredHooks, UsedChannel, UsedPresence, hooksOf, useChannel, useConnection, usePresence, useStore, useStores, useVolatile };
}
export { index_d_exports as ".", document_d_exports as "./document" };
import { ChannelOptions, ChannelSnapshot, ChannelStore, ConnectionSnapshot, ConnectionStore, PresenceSnapshot, PresenceStore, Store, Stores } from "@crosswind/client/stores";
import { Crosswind, VolatileMessage } from "@crosswind/client";
import { DocumentSnapshot } from "@crosswind/client/document-store";
import { ReactElement, ReactNode } from "react";
interface ConnectionProviderProps<Declared> {
  readonly connect: () => Crosswind<Declared>;
  readonly children?: ReactNode;
}
interface DeclaredHooks<Declared> {
  useChannel<Name extends DeclaredName<Declared>>(name: Name, options?: ChannelOptions<DataOf<Declared, Name>>): UsedChannel<DataOf<Declared, Name>, SentOf<Declared, Name>>;
  usePresence<Name extends DeclaredName<Declared>>(name: Name): UsedPresence<StateOf<Declared, Name>, OwnStateOf<Declared, Name>>;
  useVolatile<Name extends DeclaredName<Declared>>(name: Name, listener: (message: VolatileMessage<DataOf<Declared, Name>>) => void): void;
}
interface Typed<Input, Output> {
  readonly '~standard': {
    readonly types?: {
      readonly input: Input;
      readonly output: Output;
    } | undefined;
  };
}
type DataOf<Declared, Name> = (RuleOf<Declared, Name> extends {
  readonly validate: Typed<infer _Input, infer Output>;
} ? Output : unknown) | Erased<RuleOf<Declared, Name>>;
type DeclaredName<Declared> = Matches<keyof Declared>;
type Erased<Rule> = Rule extends {
  readonly changes: infer Changes;
} ? Changes extends true | 'server' ? undefined : never : never;
type Matches<Pattern> = Pattern extends `${infer Prefix}*` ? `${Prefix}${string}` : Pattern;
type OwnStateOf<Declared, Name> = RuleOf<Declared, Name> extends {
  readonly presence: Typed<infer Input, infer _Output>;
} ? Input : unknown;
type RuleOf<Declared, Name> = { [Pattern in keyof Declared]: Name extends Matches<Pattern> ? Declared[Pattern] : never; }[keyof Declared];
type SentOf<Declared, Name> = RuleOf<Declared, Name> extends {
  readonly validate: Typed<infer Input, infer _Output>;
} ? Input : unknown;
type StateOf<Declared, Name> = RuleOf<Declared, Name> extends {
  readonly presence: Typed<infer _Input, infer Output>;
} ? Output : unknown;
type UsedChannel<Data, Sent = Data> = ChannelSnapshot<Data, Sent> & Pick<ChannelStore<Data, Sent>, 'publish' | 'drop' | 'change' | 'erase' | 'sendVolatile' | 'loadEarlier'>;
type UsedPresence<State, Own = State> = PresenceSnapshot<State> & Pick<PresenceStore<State, Own>, 'set'>;
