// What the page uses of two packages that come without types.

declare module 'medium-editor' {
  export interface ToolbarButton {
    readonly name: string
    /** Name for screen readers, also the tooltip. */
    readonly aria: string
    /** HTML inside the button. */
    readonly contentDefault: string
    /** Called with the button as `this`, in place of running the button's own command. */
    readonly handleClick?: (this: RunningButton, event: Event) => void
  }

  export interface RunningButton {
    readonly execAction: (command: string) => void
  }

  /** See OPTIONS.md of medium-editor 5.23. */
  export interface MediumEditorOptions {
    readonly elementsContainer?: HTMLElement
    readonly toolbar: { readonly buttons: readonly ToolbarButton[] }
    readonly anchor: Readonly<Record<string, string | boolean>>
    readonly paste: { readonly forcePlainText: boolean; readonly cleanPastedHTML: boolean }
    readonly placeholder: false
    readonly autoLink: boolean
    readonly targetBlank: boolean
    readonly imageDragging: boolean
    readonly spellcheck: boolean
  }

  export default class MediumEditor {
    constructor(element: HTMLElement, options: MediumEditorOptions)
    getExtensionByName(name: 'toolbar'): { getToolbarElement(): HTMLElement } | undefined
    destroy(): void
  }
}

declare module 'react-medium-editor' {
  import type MediumEditor from 'medium-editor'
  import type { MediumEditorOptions } from 'medium-editor'
  import type { Component, HTMLAttributes, ReactElement, Ref } from 'react'

  export interface ReactMediumEditorProps extends HTMLAttributes<HTMLElement> {
    readonly tag?: string
    readonly text: string
    readonly options: MediumEditorOptions
  }

  class ReactMediumEditor extends Component<ReactMediumEditorProps> {
    medium?: MediumEditor
    componentDidMount(): void
    render(): ReactElement<{ ref?: Ref<HTMLElement> }>
  }

  /** The CommonJS exports object: the class is its `default`. */
  const exports: { readonly default: typeof ReactMediumEditor }
  export default exports
}
