// How the dial looks: its colours and type, from the page's custom properties, one place for light and dark.

export interface DialLook {
  readonly ink: string
  readonly inkSoft: string
  readonly paper: string
  /** The ring that the spread lies on. */
  readonly track: string
  readonly tick: string
  readonly pointer: string
  readonly spread: string
  /** Outline of a hollow pointer. */
  readonly hollow: string
  readonly caution: string
  /** Fonts, as in CSS. */
  readonly family: string
}

const properties: Readonly<Record<keyof DialLook, string>> = {
  ink: '--ink',
  inkSoft: '--ink-soft',
  paper: '--paper',
  track: '--dial-track',
  tick: '--line-control',
  pointer: '--accent',
  spread: '--dial-spread',
  hollow: '--line-control',
  caution: '--caution',
  family: '--type-interface',
}

/** `read` gives a custom property as it holds for the dial. */
export function dialLook(read: (property: string) => string): DialLook {
  const entries = Object.entries(properties).map(([part, property]) => [part, read(property).trim()])
  return Object.fromEntries(entries) as DialLook
}
