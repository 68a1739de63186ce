// Entry point of a process of its own: runs the floods it is told to, so that they take no time from who measures.

import { type FloodName, floods, type Ports } from './floods.ts'

interface Order {
  readonly name: FloodName
  readonly ports: Ports
}

process.on('message', async ({ name, ports }: Order) => {
  process.send?.({ type: 'ended', ending: await floods[name](ports) })
})
process.once('disconnect', () => process.exit())
process.send?.({ type: 'ready' })
