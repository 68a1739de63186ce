// Welch's t-test: do two groups differ in their means, when they need not be equally spread.

import { checkGroup, type Difference, differenceOfMeans, type Group } from './difference.ts'

/**
 * First mean minus second, its interval at `level`, t, degrees of freedom and two-sided p. B. L. Welch, "The
 * generalization of 'Student's' problem when several different population variances are involved" (Biometrika 34,
 * 1947); degrees of freedom by F. E. Satterthwaite (Biometrics Bulletin 2, 1946). Throws RangeError where n is below
 * 2; two groups without any spread get the stated result of `differenceOfMeans`.
 */
export function welch(first: Group, second: Group, level = 0.95): Difference {
  checkGroup(first)
  checkGroup(second)
  const firstError = first.sd ** 2 / first.n
  const secondError = second.sd ** 2 / second.n
  const standardError = Math.sqrt(firstError + secondError)
  const spread = firstError ** 2 / (first.n - 1) + secondError ** 2 / (second.n - 1)
  // Without spread the formula is 0 / 0; any number serves there, since the standard error is 0.
  const degreesOfFreedom = spread === 0 ? first.n + second.n - 2 : (firstError + secondError) ** 2 / spread
  return differenceOfMeans(first, second, { standardError, degreesOfFreedom }, level)
}
