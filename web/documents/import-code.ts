// The code that reads files, loaded while the server answers: a browser may remember a failed import.

type ImportCode = typeof import('./import-file.ts')

let loaded: ImportCode | null = null

export const isImportCodeLoaded = () => loaded !== null

/** Rejects with an Error whose message can be displayed. */
export async function loadImportCode(): Promise<ImportCode> {
  try {
    loaded ??= await import('./import-file.ts')
    return loaded
  } catch (cause) {
    const sentence =
      'The code that reads files could not be loaded: the server did not answer. Reload the page once the connection is back, and choose the file again.'
    throw new Error(sentence, { cause })
  }
}

/** Call when the page is open. */
export const preloadImportCode = () => void loadImportCode().catch(() => undefined)
