// What the 2021 paper measured, to stand beside what is measured here.

/**
 * Mean transmission times in ms, Table 1 of the 2021 thesis on SSE and XHR over HTTP/2 (section 5): n = 200, three
 * computers on a LAN. It prints no standard deviation, so no interval can be given for them.
 */
export const publishedMeansMs: Readonly<Record<string, number>> = {
  'sse/2': 79.889,
  'sse/1.1': 198.45,
  'websocket/1.1': 88.171,
}

/** The mode that ratios are taken to: milliseconds of different machines cannot be compared, ratios can a little. */
export const ratioBase = 'websocket/1.1'
