// Which view an address asks for, and the address of a view.

import { type ShownView, type ViewName, views } from './views.ts'

const [{ name: first }] = views

/** `search` is the address's query. A view that there is not gives the first one, and a sentence about it. */
export function viewAsked(search: string): ShownView {
  const asked = new URLSearchParams(search).get('view') ?? first
  const found = views.find(({ name }) => name === asked)
  if (found) return { name: found.name, notice: null }
  const names = views.map(({ name }) => name)
  const known = `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
  return {
    name: first,
    notice: `There is no view “${shortened(asked)}”, so this window shows everything. The views are ${known}.`,
  }
}

/** The same page in that view. */
export function addressInView(href: string, name: ViewName): string {
  const address = new URL(href)
  if (name === first) address.searchParams.delete('view')
  else address.searchParams.set('view', name)
  return address.href
}

function shortened(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text
}
