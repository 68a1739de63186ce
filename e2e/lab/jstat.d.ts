// Types for the jstat functions that the lab calls; jstat ships none.

declare module 'jstat' {
  const library: { readonly jStat: typeof jStat }
  export default library
  export const jStat: {
    readonly studentt: {
      /** P(T <= t); `degreesOfFreedom` may be fractional. */
      cdf(t: number, degreesOfFreedom: number): number
      /** Inverse of `cdf`. */
      inv(probability: number, degreesOfFreedom: number): number
    }
  }
}
