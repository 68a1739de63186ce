// `node --import stage-stamps.ts stages-loop.ts`: publishes the stages of messages in a loop; answers with the time of each run over IPC.

import { channel } from 'node:diagnostics_channel'

const names = ['arrived', 'admitted', 'committing', 'stored', 'told']
const [arrived, admitted, committing, stored, told] = names.map((name) => channel(`crosswind:${name}`))

/** As the server does for messages of its log, one in each group. */
function publish(first: number, count: number): void {
  for (let place = first; place < first + count; place += 1) {
    const source = {}
    const draft = { id: `window-${place}` }
    const group = [{ draft }]
    arrived?.publish(source)
    if (admitted?.hasSubscribers) admitted.publish({ id: draft.id, source })
    committing?.publish(group)
    stored?.publish(group)
    told?.publish(group)
  }
}

const messages = 9000
const runs = 15

// Compiled first.
publish(0, 2 * messages)
const micros = Array.from({ length: runs }, (_, run) => {
  const before = process.cpuUsage()
  publish((run + 2) * messages, messages)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / messages
})
process.send?.(micros)
process.disconnect?.()
