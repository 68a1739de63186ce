// The views and their addresses. A new view is a row here; its parts are in App.tsx.

import { excerptOf } from '../../protocol/graphemes.ts'

export type Part = 'document' | 'wind' | 'history' | 'comparison' | 'monitor'

type Parts = readonly [main: Part, ...beside: Part[]]

/**
 * The first is the default. Those with `menuWords` are in the mode menu: the switch has no room for all on a narrow screen.
 */
export const views = [
  { name: 'all', label: 'All', parts: ['document', 'wind'] },
  { name: 'editor', label: 'Editor', parts: ['document'] },
  { name: 'wind', label: 'Wind', parts: ['wind'] },
  { name: 'history', label: 'History', parts: ['history'] },
  {
    name: 'compare',
    label: 'Compare here',
    parts: ['comparison'],
    menuWords: 'Compare here: which mode is fastest in this browser, on this network?',
  },
  {
    name: 'monitor',
    label: 'Monitor',
    parts: ['monitor'],
    menuWords: 'Monitor: the server’s load, live',
  },
] as const satisfies readonly {
  readonly name: string
  readonly label: string
  readonly parts: Parts
  readonly menuWords?: string
}[]

export type ViewName = (typeof views)[number]['name']

const [{ name: first }] = views

interface ViewAsked {
  readonly name: ViewName
  /** Null if the view is known. */
  readonly notice: string | null
}

const viewNamed = (name: string) => views.find((view) => view.name === name)

export function partsOf(name: ViewName): Parts {
  return viewNamed(name)?.parts ?? views[0].parts
}

/** `search`: the address's query. */
export function viewAsked(search: string): ViewAsked {
  const asked = new URLSearchParams(search).get('view') ?? first
  const found = viewNamed(asked)
  if (found) return { name: found.name, notice: null }
  const known = new Intl.ListFormat('en-GB').format(views.map(({ name }) => name))
  return {
    name: first,
    notice: `There is no view “${excerptOf(asked, 41)}”, so this window shows everything. The views are ${known}.`,
  }
}

export function addressInView(href: string, name: ViewName): string {
  const address = new URL(href)
  if (name === first) address.searchParams.delete('view')
  else address.searchParams.set('view', name)
  return address.href
}

export function notLoaded(name: ViewName): string {
  return `The view “${viewNamed(name)?.label}” could not be loaded: the server did not answer. Choose it again once the connection is back, or reload.`
}
