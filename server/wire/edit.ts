// What an edit carries. Today the whole content, as in the 2021 paper ("mirroring").

export interface EditBody {
  /** The editor's whole content. Not to be trusted: a window cleans it at its one door before it shows it. */
  readonly html: string
}
