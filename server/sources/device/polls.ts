// Polled mode: what a host says to be given one frame at a time.

export interface PollsOpening {
  /** `A` to `Z`. */
  readonly node: string
  onAsk(): void
  /** The host wants to know the node letter. */
  onIdentify(): void
  onConfigure(): void
}

/**
 * Takes characters as they come (manual 1405-PS-0019, section 9.3): `?` enables, `!` disables, the node letter asks for a
 * frame while enabled, `&` after `?` for the letter, `*` and the letter begin configuration mode, enabled or not. Begins
 * disabled, as after power-up. Anything else is passed over.
 */
export function createPolls({ node, onAsk, onIdentify, onConfigure }: PollsOpening) {
  let isEnabled = false
  let last = ''
  return (character: string): void => {
    const before = last
    last = character
    if (character === '?') isEnabled = true
    else if (character === '!') isEnabled = false
    else if (character === '&' && before === '?') onIdentify()
    else if (character === node && before === '*') onConfigure()
    else if (character === node && isEnabled) onAsk()
  }
}
