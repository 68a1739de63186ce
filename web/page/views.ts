// The views of the service: which sides of it a window shows. A new one is one row here, and one part in App.tsx.

/** A side of the service that a view can show. */
export type Part = 'document' | 'wind' | 'overview'

interface ViewRow {
  /** As the address says it, `?view=wind`. */
  readonly name: string
  readonly label: string
  /** The first is the main thing in the window, the others stand beside it. */
  readonly parts: readonly [Part, ...Part[]]
}

/** The first is what a window shows that was asked for nothing else. */
export const views = [
  { name: 'all', label: 'All', parts: ['document', 'wind'] },
  { name: 'editor', label: 'Editor', parts: ['document'] },
  { name: 'wind', label: 'Wind', parts: ['wind'] },
  { name: 'overview', label: 'Overview', parts: ['overview'] },
] as const satisfies readonly ViewRow[]

export type ViewName = (typeof views)[number]['name']

/** What a window shows, and what to say of an address that asked for something else. */
export interface ShownView {
  readonly name: ViewName
  /** One sentence; null where the address was understood. */
  readonly notice: string | null
}

/** The main one first. */
export function partsOf(name: ViewName): readonly [Part, ...Part[]] {
  return views.find((view) => view.name === name)?.parts ?? views[0].parts
}
