// Types for what adapters and tests call of SocketCluster; it ships none.

declare module 'socketcluster-client' {
  interface Channel extends AsyncIterable<object> {
    listener(event: 'subscribe'): { once(): Promise<unknown> }
  }
  interface Socket {
    subscribe(channel: string): Channel
    transmitPublish(channel: string, message: object): void
    disconnect(): void
  }
  export function create(options: {
    readonly hostname: string
    readonly port: number
    readonly secure: boolean
    readonly wsOptions?: object
  }): Socket
}

declare module 'socketcluster-client/socketcluster-client.min.js' {
  export { create } from 'socketcluster-client'
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
