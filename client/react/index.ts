// The door for React: hooks over the stores of one connection.

import {
  createContext,
  createElement,
  type ReactElement,
  type ReactNode,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react'
import type { DataOf, DeclaredName, OwnStateOf, SentOf, StateOf } from '../../protocol/declared.ts'
import type { Crosswind, VolatileMessage } from '../connect.ts'
import {
  type ChannelOptions,
  type ChannelSnapshot,
  type ChannelStore,
  type ConnectionSnapshot,
  type ConnectionStore,
  type PresenceSnapshot,
  type PresenceStore,
  type Store,
  Stores,
} from '../stores.ts'

const Context = createContext<Stores | null>(null)

export interface ConnectionProviderProps<Declared> {
  /** Called once, in the browser, when something below is first mounted or used. */
  readonly connect: () => Crosswind<Declared>
  readonly children?: ReactNode
}

/** Gives the hooks below it one connection, and closes it when it is unmounted. */
export function ConnectionProvider<Declared>({
  connect,
  children,
}: ConnectionProviderProps<Declared>): ReactElement {
  const [stores] = useState(() => new Stores(connect as () => Crosswind))
  useEffect(() => stores.hold(), [stores])
  return createElement(Context.Provider, { value: stores }, children)
}

/** The stores of the connection, for hooks of your own. Throws outside a `ConnectionProvider`. */
export function useStores(): Stores {
  const stores = useContext(Context)
  if (stores) return stores
  throw new Error(
    'There is no connection here: put a <ConnectionProvider connect={…}> around this component.',
  )
}

/** The value of a store, which must be the same object as long as it is the same store. */
export function useStore<Snapshot>({ subscribe, getSnapshot, getServerSnapshot }: Store<Snapshot>): Snapshot {
  return useSyncExternalStore(subscribe, getSnapshot, getServerSnapshot)
}

export type UsedChannel<Data, Sent = Data> = ChannelSnapshot<Data, Sent> &
  Pick<ChannelStore<Data, Sent>, 'publish' | 'drop' | 'change' | 'erase' | 'sendVolatile' | 'loadEarlier'>

/** The messages of a channel while the component is mounted: the newest, those that follow, and own ones to come. */
export function useChannel<Data>(name: string, options: ChannelOptions<Data> = {}): UsedChannel<Data> {
  const stores = useStores()
  const { from, limit, kind, initial } = options
  const store = useMemo(
    () => stores.channel<Data>(name, { from, limit, kind, initial }),
    [stores, name, from, limit, kind, initial],
  )
  const snapshot = useStore(store)
  return useMemo(() => {
    const { publish, drop, change, erase, sendVolatile, loadEarlier } = store
    return { ...snapshot, publish, drop, change, erase, sendVolatile, loadEarlier }
  }, [snapshot, store])
}

export type UsedPresence<State, Own = State> = PresenceSnapshot<State> &
  Pick<PresenceStore<State, Own>, 'set'>

/** Who is on a channel, and what each shows; `set` shows this client as long as the component is mounted. */
export function usePresence<State>(name: string): UsedPresence<State> {
  const stores = useStores()
  const store = useMemo(() => stores.presence<State>(name), [stores, name])
  const snapshot = useStore(store)
  const { set } = store
  return useMemo(() => ({ ...snapshot, set }), [snapshot, set])
}

/** Calls the newest listener with each volatile message of a channel while the component is mounted. */
export function useVolatile<Data>(name: string, listener: (message: VolatileMessage<Data>) => void): void {
  const stores = useStores()
  const newest = useRef(listener)
  useEffect(() => {
    newest.current = listener
  })
  useEffect(() => stores.onVolatile<Data>(name, (message) => newest.current(message)), [stores, name])
}

/** The state of the connection, `opening` until it is made. */
export function useConnection(): ConnectionSnapshot & Pick<ConnectionStore, 'retry'> {
  const { connection } = useStores()
  const snapshot = useStore(connection)
  const { retry } = connection
  return useMemo(() => ({ ...snapshot, retry }), [snapshot, retry])
}

/** The hooks of channels, with the types that a declaration gives them. */
export interface DeclaredHooks<Declared> {
  useChannel<Name extends DeclaredName<Declared>>(
    name: Name,
    options?: ChannelOptions<DataOf<Declared, Name>>,
  ): UsedChannel<DataOf<Declared, Name>, SentOf<Declared, Name>>
  usePresence<Name extends DeclaredName<Declared>>(
    name: Name,
  ): UsedPresence<StateOf<Declared, Name>, OwnStateOf<Declared, Name>>
  useVolatile<Name extends DeclaredName<Declared>>(
    name: Name,
    listener: (message: VolatileMessage<DataOf<Declared, Name>>) => void,
  ): void
}

/** The same hooks: `export const { useChannel, usePresence, useVolatile } = hooksOf<typeof channels>()`. */
export const hooksOf = <Declared>(): DeclaredHooks<Declared> =>
  ({ useChannel, usePresence, useVolatile }) as DeclaredHooks<Declared>
