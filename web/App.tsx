// The page: header, tabs, notices, and the lazily loaded parts of the view.

import type { ComponentType } from 'react'
import type { PageStart } from '../app/shared/page-messages.ts'
import { type Part, type ViewName, viewNamed } from '../app/shared/views.ts'
import { LateCode } from './late-code.ts'
import { Header } from './page/Header.tsx'
import { useMayWrite, useView } from './page/hooks.ts'
import { Notices } from './page/Notices.tsx'
import { LabTabs, Tabs } from './page/Tabs.tsx'
import type { HistoryProps } from './wind/History.tsx'
import './styles/page.css'

interface AppProps extends HistoryProps {
  readonly start: PageStart
}

const labels = {
  document: 'Document',
  wind: 'Wind',
  history: 'History',
  comparison: 'Comparison',
  monitor: 'Monitor',
}

/** Each part is a separate chunk, whose name is also its id and the skip link's target. */
const parts: Readonly<Record<Part, LateCode<ComponentType<AppProps>>>> = {
  document: new LateCode(async () => {
    const { Sheet } = await import('./editor/Sheet.tsx')
    return ({ start, store, actions }) => {
      const mayWrite = useMayWrite(store, start)
      // Remounted on change, since the editor renders only once.
      return (
        <Sheet
          key={String(mayWrite)}
          onReady={actions.mountEditor}
          mayWrite={mayWrite}
          onOpenWindow={actions.openWindow}
        />
      )
    }
  }),
  wind: new LateCode(async () => (await import('./wind/WindPanel.tsx')).WindPanel),
  history: new LateCode(async () => (await import('./history/Versions.tsx')).Versions),
  comparison: new LateCode(async () => (await import('./compare/Compare.tsx')).Compare),
  monitor: new LateCode(async () => (await import('./monitor/Monitor.tsx')).Monitor),
}

/** Await before showing the first view, whose other parts may come later. */
export async function loadMain(name: ViewName): Promise<void> {
  await parts[viewNamed(name).parts[0]].load()
}

/** What the first view shows beside that, once the server answers. */
export async function loadBeside(name: ViewName): Promise<void> {
  const [, ...beside] = viewNamed(name).parts
  await Promise.all(beside.map((part) => parts[part].loadOnceServed()))
}

/** Await before showing another view. Rejects if a part does not load. */
export async function loadView(name: ViewName): Promise<void> {
  await Promise.all(viewNamed(name).parts.map((part) => parts[part].load()))
}

function Shown({ of, ...props }: AppProps & { readonly of: Part }) {
  const Loaded = parts[of].loaded
  return Loaded && <Loaded {...props} />
}

/** Subscribes only to the view's name, so wind readings never render the editor. */
export function App(props: AppProps) {
  const { store, actions, start } = props
  const view = useView(store, ({ shown }) => shown.name)
  const hasSensor = useView(store, ({ wind }) => wind.hasSensor)
  const [main, ...others] = viewNamed(view).parts
  // Beside the text, instructions for a sensor would be in the way.
  const beside = others.filter((part) => part !== 'wind' || hasSensor)
  return (
    <>
      <a className="skip" href={`#${main}`}>
        Skip to the {main}
      </a>
      <Header store={store} actions={actions} start={start} />
      <Tabs store={store} actions={actions} />
      <Notices store={store} actions={actions} start={start} />
      <div className="desk" data-view={view}>
        <main className="desk-main">
          <LabTabs store={store} start={start} actions={actions} />
          <div key={main} className={`desk-${main}`}>
            <Shown of={main} {...props} />
          </div>
        </main>
        {beside.map((part) => (
          <aside key={part} className={`desk-beside desk-${part}`} aria-label={labels[part]}>
            <Shown of={part} {...props} />
          </aside>
        ))}
      </div>
    </>
  )
}
