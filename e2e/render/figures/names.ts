// How figures name their rows and panels.

/** Text that stays readable on whatever is drawn behind it. */
export const halo = { fill: 'var(--ink)', stroke: 'var(--paper)', strokeWidth: 4 } as const

/** For a text mark: at the figure's left edge, at the height that the mark gives. */
export const rowName = { frameAnchor: 'left', textAnchor: 'start', fontWeight: 600, ...halo } as const

/** For a text mark: on top of the panel's left corner. */
export const panelName = {
  frameAnchor: 'top-left',
  textAnchor: 'start',
  lineAnchor: 'bottom',
  fontWeight: 600,
  fill: 'var(--ink)',
} as const
