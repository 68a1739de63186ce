// The few functions of jstat that the lab calls; jstat brings no types of its own.

declare module 'jstat' {
  const library: { readonly jStat: typeof jStat }
  export default library
  export const jStat: {
    readonly studentt: {
      /** P(T <= t) with `degreesOfFreedom`, which may have fractions. */
      cdf(t: number, degreesOfFreedom: number): number
      /** The t below which `probability` lies. */
      inv(probability: number, degreesOfFreedom: number): number
    }
  }
}
