// User actions: everything that components know of the page besides its store.

import type { Line } from '../../app/document/rich-text.ts'
import type { PageStart } from '../../app/shared/page-messages.ts'
import { addressInView, type ViewName, viewAsked } from '../../app/shared/views.ts'
import { modeFor, type WindowMode, windowModeNamed } from '../../protocol/modes.ts'
import { addressOfDocument } from '../documents/document-addresses.ts'
import { importCode } from '../documents/import-code.ts'
import type { EditingSession } from '../editing-session.ts'
import type { EditorCommands, MountedEditor } from '../editor/commands.ts'
import { LateCode } from '../late-code.ts'
import { addressInMode, type BrowserKey, modeAsked } from '../page-session.ts'
import {
  keepChoices,
  keepItem,
  type LeftEdit,
  nameKey,
  type Store,
  type Tone,
  type WindChoices,
} from '../store.ts'
import { http1Warning, notLoaded } from './wording.ts'

const requestsCode = new LateCode(() => import('../documents/document-requests.ts'))

interface PageActionsOptions {
  readonly start: PageStart
  readonly browser: BrowserKey
  /** The mode that the page was opened with. */
  readonly mode: WindowMode
  readonly store: Store
  readonly session: EditingSession
  /** Rejects if a part of the view does not load. */
  readonly loadView: (name: ViewName) => Promise<void>
}

const noRoom = 'There is no room for another unsent change; set the name once the earlier ones are stored.'

export class PageActions {
  readonly #options: PageActionsOptions
  #mounted: { readonly root: HTMLElement; readonly commands: EditorCommands } | null = null
  #onMounted: () => void = () => undefined
  /** The editor may take the focus when it mounts in this view; null once one did. */
  #viewOpened: ViewName | null
  #viewChosen: ViewName

  constructor(options: PageActionsOptions) {
    const { name } = options.store.view().shown
    this.#options = options
    this.#viewOpened = name
    this.#viewChosen = name
  }

  get browser(): BrowserKey {
    return this.#options.browser
  }

  /** The document's current lines. */
  get lines(): readonly Line[] {
    return this.#options.session.lines
  }

  /** Constant, since the editor is rendered only once. */
  readonly mountEditor = (element: HTMLElement): MountedEditor => {
    const { session, store } = this.#options
    const { commands, release } = session.attach(element)
    this.#mounted = { root: element, commands }
    if (store.view().shown.name === this.#viewOpened && session.mayWrite) focusIfEmpty(element)
    this.#viewOpened = null
    this.#onMounted()
    return {
      commands,
      release: () => {
        this.#mounted = null
        release()
      },
    }
  }

  /** False, with a notice, if the view does not load. */
  async load(name: ViewName): Promise<boolean> {
    try {
      await this.#options.loadView(name)
      return true
    } catch {
      this.notify(notLoaded(name))
      return false
    }
  }

  /** Also changes the address: the browser's Back returns to the view before. */
  async chooseView(name: ViewName): Promise<void> {
    await this.#showView(name, () => {
      const address = addressInView(location.href, name)
      if (address !== location.href) history.pushState(null, '', address)
    })
  }

  /** Shows the view of an address that the browser's Back or Forward led to. */
  async followAddress(): Promise<void> {
    const { start, store } = this.#options
    // Addresses from before the choice name another mode.
    const preferred = windowModeNamed(store.view().link.preferred)
    if (preferred && modeAsked(start, location.search).mode !== preferred)
      history.replaceState(null, '', this.#addressIn(preferred))
    const { name } = viewAsked(location.search)
    if (name === store.view().shown.name) this.#viewChosen = name
    else if (!(await this.#showView(name)) && this.#viewChosen === name)
      history.replaceState(null, '', addressInView(location.href, store.view().shown.name))
  }

  /** False if it does not load, or another view was chosen meanwhile. */
  async #showView(name: ViewName, onLoaded?: () => void): Promise<boolean> {
    this.#viewChosen = name
    if (!(await this.load(name)) || this.#viewChosen !== name) return false
    onLoaded?.()
    this.#options.store.change({ shown: { name, notice: null } })
    return true
  }

  /** Shows a sentence until it is dismissed. */
  notify(sentence: string, tone: Tone = 'warning'): void {
    const { store } = this.#options
    store.change({ shown: { ...store.view().shown, notice: { tone, sentence } } })
  }

  dismissViewNotice(): void {
    const { store } = this.#options
    store.change({ shown: { ...store.view().shown, notice: null } })
  }

  dismissRefusal(): void {
    this.#options.store.change({ refusal: null })
  }

  chooseWind(change: Partial<WindChoices>): void {
    const { store } = this.#options
    const { wind } = store.view()
    const choices = { ...wind.choices, ...change }
    keepChoices(() => localStorage, choices)
    store.change({ wind: { ...wind, choices } })
  }

  // The connection

  /** `name` as in the modes table, such as `sse/2`; unknown ones are ignored. */
  switchMode(name: string): void {
    const mode = windowModeNamed(name)
    if (!mode) return
    // For reloads and bookmarks.
    history.replaceState(null, '', this.#addressIn(mode))
    this.#options.session.switchMode(mode)
  }

  #addressIn(mode: WindowMode): string {
    const { transport, http } = this.#options.start
    return addressInMode(location.href, mode, modeFor(transport, http))
  }

  /** Constant too. */
  readonly openWindow = (): void => {
    const { store, mode } = this.#options
    const { link, browserHttp1Streams, share } = store.view()
    const current = windowModeNamed(link.mode) ?? mode
    const { wayOut } = http1Warning(current, browserHttp1Streams, share, link.spokenHttp) ?? {}
    // Without an opener the window gets its own process; without `popup` it would be a tab.
    const address = this.#addressIn(wayOut ?? windowModeNamed(link.preferred) ?? current)
    open(address, '_blank', `noopener,popup,width=${innerWidth},height=${innerHeight}`)
  }

  retryNow(): void {
    this.#options.session.retryNow()
  }

  // The document

  /** This window's user, as others see it; empty for a guest. Kept in this browser. */
  chooseName(name: string): void {
    keepItem(() => localStorage, nameKey, this.#options.session.presence.chooseName(name))
  }

  /** With an empty title the channel's name is shown. */
  rename(title: string): void {
    if (!this.#options.session.rename(title)) this.notify(noRoom)
  }

  /** `at`: of the version's last update, as the log has it. An empty name removes it. */
  nameVersion(at: number, name: string): void {
    if (!this.#options.session.nameVersion(at, name)) this.notify(noRoom)
  }

  /** Makes the document's text equal to a version, as an edit that can be undone. */
  async restoreVersion(version: readonly Line[]): Promise<void> {
    await this.#shownEditor()
    this.#options.session.replace(version)
    this.notify('The earlier version is restored. Undo brings the later one back.', 'success')
  }

  /** Makes the document's text equal to an edit, as an edit that can be undone. */
  async restoreLeft(left: LeftEdit): Promise<void> {
    try {
      const { readImport } = await importCode.loadOnceServed()
      const { lines } = await readImport(new File([left.html], 'The edit', { type: 'text/html' }))
      await this.#shownEditor()
      this.#options.session.replace(lines)
      this.forgetLeft(left)
    } catch (error) {
      this.notify(error instanceof Error ? error.message : String(error))
    }
  }

  forgetLeft(left: LeftEdit): void {
    this.#options.session.forgetLeft(left)
  }

  /** Deletes a document, or restores it. Rejects with an Error whose message can be displayed. */
  async deleteDocument(channel: string, deleted: boolean): Promise<void> {
    const requests = await requestsCode.load()
    await requests.deleteDocument(this.#options.browser, channel, deleted)
  }

  /**
   * Opens a document in this window; a new one gets `name` as its title. Rejects with an Error
   * whose message can be displayed.
   */
  async createDocument(name: string, channel: string, isNew: boolean): Promise<void> {
    const requests = await requestsCode.load()
    if (isNew) await requests.createDocument(this.#options.browser, channel, name)
    location.assign(addressOfDocument(location.href, channel))
  }

  /** Inserts a file's content at the end of the document. */
  async importFile(file: File): Promise<void> {
    try {
      if (!importCode.isAtHand)
        this.notify(
          `${file.name} will be imported once the connection is back. Keep this window open until then.`,
          'information',
        )
      const { importAtEnd } = await importCode.loadOnceServed()
      const { sentence, isWhole } = await importAtEnd(file, () => this.#shownEditor())
      this.notify(sentence, isWhole ? 'success' : 'information')
    } catch (error) {
      this.notify(error instanceof Error ? error.message : String(error))
    }
  }

  /** Shows the document if the view has none. */
  async #shownEditor() {
    while (this.#mounted === null) {
      const ready = new Promise<void>((resolve) => {
        this.#onMounted = resolve
      })
      await this.chooseView('write')
      if (this.#options.store.view().shown.name !== 'write') throw new Error(notLoaded('write'))
      await ready
    }
    return this.#mounted
  }
}

/**
 * In an empty page the user can type at once, except after a reload, at an address with a fragment,
 * or while a field has the focus.
 */
function focusIfEmpty(editor: HTMLElement): void {
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  const isOpening = navigation?.type === 'navigate' && location.hash === ''
  const isEmpty = editor.textContent.trim() === '' && !editor.querySelector('img')
  const isFree = document.activeElement === null || document.activeElement === document.body
  if (isOpening && isEmpty && isFree) editor.focus({ preventScroll: true })
}
