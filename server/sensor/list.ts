// `--list`: which serial ports there are, and how to read one.

import { inColumns } from './columns.ts'
import { SensorFailure } from './failure.ts'
import type { ListedPort, Surroundings } from './surroundings.ts'

const unknown = '–'

/** Prints a table, those that say who made them first, or a sentence where there is no port. */
export async function listPorts({
  print,
  listPorts,
}: Pick<Surroundings, 'print' | 'listPorts'>): Promise<void> {
  const ports = await listPorts().catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error)
    throw new SensorFailure(`The ports of this machine cannot be listed (${reason}); name yours by --path.`)
  })
  const text = ports.length === 0 ? noPort : tableOf(ports.toSorted(byKnownMaker))
  for (const line of ['', ...text, '']) print(line)
}

const noPort = [
  '  There is no serial port. Plug the converter in and look again; on Linux it is called /dev/ttyUSB0 or',
  '  /dev/ttyACM0, on macOS /dev/tty.usbserial-…, on Windows COM3.',
]

function tableOf(ports: readonly ListedPort[]): string[] {
  const rows = ports.map(({ path, manufacturer = unknown, serialNumber = unknown }) => [
    path,
    manufacturer,
    serialNumber,
  ])
  const first = ports[0]?.path
  return [
    ...inColumns([['path', 'maker', 'serial number'], ...rows]),
    '',
    `  See what comes from one:     npm run sensor -- --listen --path ${first}`,
    `  Show it in every window:     npm start -- --sensor-source serial --sensor-path ${first}`,
  ]
}

/** A machine's own sockets have no maker; a converter, which is what is looked for, has. */
function byKnownMaker(a: ListedPort, b: ListedPort): number {
  const rank = ({ manufacturer }: ListedPort) => (manufacturer === undefined ? 1 : 0)
  return rank(a) - rank(b) || a.path.localeCompare(b.path, 'en', { numeric: true })
}
