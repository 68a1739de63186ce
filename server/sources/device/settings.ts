// What a WindSonic can be told, and what it has been told: the settings that D3 lists.

/** In the order in which D3 lists them (manual 1405-PS-0019, section 10.6). */
const letters = ['M', 'U', 'O', 'L', 'P', 'B', 'H', 'N', 'F', 'E', 'T', 'S', 'C', 'G', 'K'] as const

export type SettingLetter = (typeof letters)[number]

/** What follows each letter, as text: `{ M: '2', U: '1', … N: 'Q', … K: '50' }`. */
export type Settings = Readonly<Record<SettingLetter, string>>

/** `M2,U1,O1,L1,P1,B3,H1,NQ,F1,E3,T1,S4,C2,G0,K50,`: an option 1 unit as it leaves the factory (section 10.6). */
export const factorySettings: Settings = {
  M: '2',
  U: '1',
  O: '1',
  L: '1',
  P: '1',
  B: '3',
  H: '1',
  N: 'Q',
  F: '1',
  E: '3',
  T: '1',
  S: '4',
  C: '2',
  G: '0',
  K: '50',
}

/**
 * What each letter allows (section 10.7). G is kept for later and T, S and C are for the analogue output of option 3: they
 * are held and do nothing. Which E there are besides E2 and E3 is unverified.
 */
const allowed: Readonly<Record<SettingLetter, RegExp>> = {
  M: /^([1-5]|1[2456])$/,
  U: /^[1-5]$/,
  O: /^[12]$/,
  L: /^[12]$/,
  P: /^([123]|2[01])$/,
  B: /^[1-5]$/,
  H: /^[12]$/,
  N: /^[A-Z]$/,
  F: /^[123]$/,
  E: /^[123]$/,
  T: /^[135]$/,
  S: /^[1-79]$/,
  C: /^[12]$/,
  G: /^0$/,
  K: /^([5-9]\d|[1-9]\d\d|[1-4]\d{3}|5000)$/,
}

export function isSettingLetter(letter: string): letter is SettingLetter {
  return letters.some((known) => known === letter)
}

/** The settings after a command such as `M5`, `NA` or `K100`; null where the sensor has no such command or value. */
export function changed(settings: Settings, command: string): Settings | null {
  const [letter, value] = [command.slice(0, 1), command.slice(1)]
  return isSettingLetter(letter) && allowed[letter].test(value) ? { ...settings, [letter]: value } : null
}

/** As D3 answers, the comma at the end included. */
export function listed(settings: Settings): string {
  return letters.map((letter) => `${letter}${settings[letter]},`).join('')
}

/**
 * Reads `"M5 U2 P3"`, parted by spaces or commas, as changes to the factory's settings. Throws an Error that names the
 * first word that no WindSonic accepts.
 */
export function readSettings(text: string): Settings {
  let settings = factorySettings
  for (const word of text.split(/[\s,]+/).filter(Boolean)) {
    const next = changed(settings, word)
    if (!next)
      throw new Error(
        `"${word}" is no setting of a WindSonic: write words such as M2, U1 or P3, parted by spaces.`,
      )
    settings = next
  }
  return settings
}
