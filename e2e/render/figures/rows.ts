// Makes room for a figure whose rows lie one below the other, as high as each other, with an axis at their foot.

import type * as Plot from '@observablehq/plot'

/** A mark's y counts rows from the top: 0 to 1 is the first. `rowHeight`: pixels. */
export function inRows(rows: number, rowHeight: number) {
  return {
    height: rows * rowHeight + 56,
    margin: 12,
    marginLeft: 2,
    marginBottom: 42,
    y: { axis: null, domain: [rows, 0] },
  } satisfies Plot.PlotOptions
}
