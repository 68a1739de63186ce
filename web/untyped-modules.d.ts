// Types of imports that have none: stylesheets, and the used parts of some packages.

declare module '*.css'

/** Replaced by Vite. */
interface ImportMeta {
  readonly env: { readonly PROD: boolean }
}

/** A public path of axios's package; see lib/adapters/README.md there. Fills in no defaults. */
declare module 'axios/lib/adapters/xhr.js' {
  import type { AxiosRequestConfig, AxiosResponse } from 'axios'

  export default function sendByXhr(config: AxiosRequestConfig<string | null>): Promise<AxiosResponse<string>>
}

declare module 'medium-editor' {
  /** See OPTIONS.md of medium-editor 5.23. */
  export interface MediumEditorOptions {
    readonly [name: string]: unknown
  }

  export default class MediumEditor {
    static readonly Extension: unknown
    /** The built-in extensions by name. */
    static readonly extensions: Record<string, unknown>
    constructor(element: HTMLElement, options: MediumEditorOptions)
    destroy(): void
  }
}

declare module 'react-medium-editor' {
  import type MediumEditor from 'medium-editor'
  import type { MediumEditorOptions } from 'medium-editor'
  import type { Component, HTMLAttributes, ReactElement, Ref } from 'react'

  export interface ReactMediumEditorProps extends HTMLAttributes<HTMLElement> {
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

declare module 'html-encoding-sniffer' {
  /** The canonical name of the encoding (Encoding Standard, 4.2); `defaultEncoding` if the bytes tell none. */
  export default function sniff(
    bytes: Uint8Array,
    options: { xml?: boolean; transportLayerEncodingLabel?: string; defaultEncoding?: string },
  ): string
}
