// Student's t-test with one pooled variance: what the 2015 publish/subscribe paper used, kept for comparing with it.

import { checkGroup, type Difference, differenceOfMeans, type Group } from './difference.ts'

/**
 * First mean minus second, as `welch` gives it, on the assumption that both groups are equally spread. Student, "The
 * probable error of a mean" (Biometrika 6, 1908), in Fisher's form for two samples with n1 + n2 - 2 degrees of
 * freedom. The lab's own comparisons never use it: their spreads differ. Throws RangeError where n is below 2.
 */
export function student(first: Group, second: Group, level = 0.95): Difference {
  checkGroup(first)
  checkGroup(second)
  const degreesOfFreedom = first.n + second.n - 2
  const pooledVariance = ((first.n - 1) * first.sd ** 2 + (second.n - 1) * second.sd ** 2) / degreesOfFreedom
  const standardError = Math.sqrt(pooledVariance * (1 / first.n + 1 / second.n))
  return differenceOfMeans(first, second, { standardError, degreesOfFreedom }, level)
}
