// Figures as people read them: few digits, units, a true minus sign, and a dash where there is nothing.

export const nothing = '–'

/** Two decimals below 10, one below 100, none above. */
export function figure(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return nothing
  const size = Math.abs(value)
  return minus(value.toFixed(size < 10 ? 2 : size < 100 ? 1 : 0))
}

/** `1,200`. */
export function count(value: number): string {
  return value.toLocaleString('en-GB')
}

/** `2.14 ± 0.61`, without the spread where there is none. */
export function spread(mean: number | null, sd: number | null): string {
  return sd === null ? figure(mean) : `${figure(mean)} ± ${figure(sd)}`
}

/** `−1.62 to −1.18`. */
export function interval([low, high]: readonly [number, number]): string {
  return `${figure(low)} to ${figure(high)}`
}

/** With its sign, for differences: `+0.31`. */
export function signed(value: number): string {
  return value > 0 ? `+${figure(value)}` : figure(value)
}

/** Three decimals, or a power of ten below 0.001: `2.2 × 10⁻⁷`. */
export function probability(p: number): string {
  if (p >= 0.001) return p.toFixed(3)
  if (p === 0) return '< 10⁻³⁰⁰'
  const [digits = '', exponent = '0'] = p.toExponential(1).split('e')
  return `${digits} × 10${raised(exponent)}`
}

/** `94 MB`, in powers of ten. */
export function megabytes(bytes: number | null): string {
  return bytes === null ? nothing : `${count(Math.round(bytes / 1e6))} MB`
}

/** `2026-05-12 09:30 UTC` from ISO 8601; what is no time is left as it is. */
export function moment(iso: string): string {
  const time = new Date(iso)
  return Number.isNaN(time.getTime()) ? iso : `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

function minus(digits: string): string {
  return digits.replace('-', '−')
}

function raised(exponent: string): string {
  return [...exponent].map((character) => superscripts[character] ?? character).join('')
}

const superscripts: Readonly<Record<string, string>> = {
  '-': '⁻',
  '+': '',
  ...Object.fromEntries([...'⁰¹²³⁴⁵⁶⁷⁸⁹'].map((character, digit) => [String(digit), character])),
}
