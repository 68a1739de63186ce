// How the plots look: colours and type from the page's custom properties.

export interface PlotLook {
  readonly text: string
  readonly grid: string
  readonly line: string
  readonly gust: string
  readonly band: string
  readonly points: string
  /** Fonts, as in CSS. */
  readonly family: string
}

const properties: Readonly<Record<keyof PlotLook, string>> = {
  text: '--ink-soft',
  grid: '--plot-grid',
  line: '--accent',
  gust: '--plot-gust',
  band: '--plot-band',
  points: '--accent',
  family: '--type-interface',
}

/** `read` gives a custom property as it holds for the plots. */
export function plotLook(read: (property: string) => string): PlotLook {
  const entries = Object.entries(properties).map(([part, property]) => [part, read(property).trim()])
  return Object.fromEntries(entries) as PlotLook
}
