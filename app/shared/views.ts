// The views, their tabs and their addresses. A new view is a row here; its parts are in App.tsx.

import { excerptOf } from '../../protocol/graphemes.ts'

export type Part = 'document' | 'wind' | 'history' | 'comparison' | 'monitor'

type Parts = readonly [main: Part, ...beside: Part[]]

/** The first is the default. A tab opens the first of its views. */
export const views = [
  { name: 'write', label: 'Write', tab: 'Write', parts: ['document', 'wind'] },
  { name: 'editor', label: 'Text', tab: 'Write', parts: ['document'] },
  { name: 'wind', label: 'Wind', tab: 'Wind', parts: ['wind'] },
  { name: 'history', label: 'History', tab: 'History', parts: ['history'] },
  { name: 'compare', label: 'Compare', tab: 'Lab', parts: ['comparison'] },
  { name: 'monitor', label: 'Monitor', tab: 'Lab', parts: ['monitor'] },
] as const satisfies readonly {
  readonly name: string
  readonly label: string
  readonly tab: string
  readonly parts: Parts
}[]

export type ViewName = (typeof views)[number]['name']

interface View {
  readonly name: ViewName
  readonly label: string
  readonly tab: string
  readonly parts: Parts
}

const [first] = views

/** Names in addresses of version 0.3 and earlier. */
const formerNames: Readonly<Record<string, ViewName>> = { all: first.name }

export const tabs = views.filter(({ tab }, index) => views.findIndex((view) => view.tab === tab) === index)

export const viewNamed = (name: ViewName): View => views.find((view) => view.name === name) ?? first

export const viewsOfTab = (name: ViewName): readonly View[] =>
  views.filter(({ tab }) => tab === viewNamed(name).tab)

interface ViewAsked {
  readonly name: ViewName
  /** Null if the view is known. */
  readonly notice: string | null
}

/** `search`: the address's query. */
export function viewAsked(search: string): ViewAsked {
  const asked = new URLSearchParams(search).get('view') ?? first.name
  const found = views.find(({ name }) => name === (formerNames[asked] ?? asked))
  if (found) return { name: found.name, notice: null }
  const known = new Intl.ListFormat('en-GB').format(views.map(({ name }) => name))
  return {
    name: first.name,
    notice: `There is no view “${excerptOf(asked, 41)}”, so this window shows “${first.label}”. The views are ${known}.`,
  }
}

export function addressInView(href: string, name: ViewName): string {
  const address = new URL(href)
  if (name === first.name) address.searchParams.delete('view')
  else address.searchParams.set('view', name)
  return address.href
}
