// What the 2012 WindComm paper measured, to stand beside what is measured here.

import type { Method } from '../../network/predict.ts'

/** 1,200 readings of one method at one site, in ms. */
export interface PaperRow {
  readonly site: string
  /** Local time at which the test began. */
  readonly start: string
  readonly method: Method
  readonly meanMs: number
  readonly sdMs: number
  /** Mean over the mean of the WebSocket test before it, as printed. */
  readonly ratio: number
}

/** In the paper's words of place. */
export const paperPlaces: Readonly<Record<string, string>> = {
  edmonton: 'Edmonton',
  caracas: 'Caracas',
  lund: 'Lund',
  nagaoka: 'Nagaoka',
}

type Printed = readonly [
  site: string,
  start: string,
  method: Method,
  meanMs: number,
  sdMs: number,
  ratio: number,
]

const printed: readonly Printed[] = [
  ['edmonton', '09:04', 'websocket', 40.3, 7.6, 1],
  ['edmonton', '09:10', 'long-polling', 41.3, 0.86, 1.02],
  ['edmonton', '09:21', 'polling', 151.3, 63.7, 3.75],
  ['edmonton', '13:04', 'websocket', 39.7, 2.8, 1],
  ['edmonton', '13:10', 'long-polling', 40.7, 2.4, 1.02],
  ['edmonton', '13:16', 'polling', 149.9, 63.6, 3.77],
  ['edmonton', '19:01', 'websocket', 40.5, 0.52, 1],
  ['edmonton', '19:07', 'long-polling', 41.5, 0.97, 1.02],
  ['edmonton', '19:13', 'polling', 150.4, 63.4, 3.72],
  ['caracas', '10:25', 'websocket', 122.9, 48.2, 1],
  ['caracas', '10:32', 'long-polling', 131.5, 66.3, 1.07],
  ['caracas', '10:45', 'polling', 283.5, 111.7, 2.31],
  ['caracas', '12:00', 'websocket', 124.0, 51.02, 1],
  ['caracas', '12:05', 'long-polling', 121.4, 50.8, 0.98],
  ['caracas', '12:11', 'polling', 298.0, 114.1, 2.4],
  ['caracas', '19:00', 'websocket', 98.8, 1.37, 1],
  ['caracas', '19:08', 'long-polling', 106.1, 41.2, 1.07],
  ['caracas', '19:16', 'polling', 266.9, 100.1, 2.7],
  ['lund', '10:45', 'websocket', 91.92, 2.74, 1],
  ['lund', '10:53', 'long-polling', 87.5, 2.26, 0.95],
  ['lund', '11:00', 'polling', 241.4, 88.4, 2.63],
  ['lund', '15:43', 'websocket', 95.3, 2.08, 1],
  ['lund', '15:51', 'long-polling', 97.3, 1.72, 1.02],
  ['lund', '15:58', 'polling', 253.0, 90.1, 2.65],
  ['lund', '01:11', 'websocket', 75.1, 0.42, 1],
  ['lund', '01:17', 'long-polling', 77.6, 0.88, 1.03],
  ['lund', '01:23', 'polling', 225.1, 84.8, 3.0],
  ['nagaoka', '11:16', 'websocket', 153.4, 133.3, 1],
  ['nagaoka', '11:22', 'long-polling', 647.0, 683.4, 4.22],
  ['nagaoka', '11:28', 'polling', 584.3, 508.8, 3.81],
  ['nagaoka', '12:32', 'websocket', 163.3, 161.9, 1],
  ['nagaoka', '12:45', 'long-polling', 585.7, 622.0, 3.59],
  ['nagaoka', '12:55', 'polling', 699.5, 682.8, 4.28],
  ['nagaoka', '21:28', 'websocket', 156.2, 176.0, 1],
  ['nagaoka', '21:33', 'long-polling', 623.3, 654.6, 3.99],
  ['nagaoka', '21:40', 'polling', 700.1, 711.0, 4.48],
]

/** V. Pimentel and B. G. Nickerson, "Communicating and Displaying Real-Time Data with WebSocket", IEEE Internet Computing 16(4), 2012, Table 1. */
export const paperRows: readonly PaperRow[] = printed.map(([site, start, method, meanMs, sdMs, ratio]) => ({
  site,
  start,
  method,
  meanMs,
  sdMs,
  ratio,
}))

/** The three tests of that method at that site; none where the paper was not. */
export function paperTests(site: string, method: Method): readonly PaperRow[] {
  return paperRows.filter((row) => row.site === site && row.method === method)
}

/** The least and the largest of a figure over those tests; null where there are none. */
export function paperRange(
  site: string,
  method: Method,
  figure: 'meanMs' | 'sdMs' | 'ratio',
): readonly [number, number] | null {
  const found = paperTests(site, method).map((row) => row[figure])
  return found.length === 0 ? null : [Math.min(...found), Math.max(...found)]
}
