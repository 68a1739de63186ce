// Types for what relays and tests call of SocketCluster; it ships none.

declare module 'socketcluster-client' {
  interface Channel extends AsyncIterable<object> {
    listener(event: 'subscribe'): { once(): Promise<unknown> }
  }
  interface Socket {
    subscribe(channel: string): Channel
    transmitPublish(channel: string, message: object): void
    disconnect(): void
  }
  const client: {
    create(options: { hostname: string; port: number; secure: boolean; wsOptions: object }): Socket
  }
  export default client
}

declare module 'socketcluster-server' {
  interface Action {
    readonly type: string
    readonly PUBLISH_IN: string
    readonly data: object
    /** The data take the place of what was published. */
    allow(packet?: { readonly data: object }): void
  }
  interface Cluster {
    readonly clientsCount: number
    readonly MIDDLEWARE_INBOUND: string
    setMiddleware(kind: string, handle: (actions: AsyncIterable<Action>) => Promise<void>): void
    listener(event: 'connection'): AsyncIterable<{ readonly socket: ServerSocket }>
  }
  interface ServerSocket {
    receiver(event: string): AsyncIterable<unknown>
    transmit(event: string, data: unknown): void
  }
  export function attach(server: import('node:https').Server): Cluster
}
