// Types of child-process.mjs for TypeScript.

export const root: string
export const serverFlags: readonly string[]
export const serverEnvironment: Readonly<Record<string, string>>

/** A sentence for people, and the failed tool's output. */
export class StepFailure extends Error {
  constructor(sentence: string, output?: string)
  readonly output: string
}

export function showFailure(failure: StepFailure): void

/** Prints `name` and the seconds that `work` took. */
export function step(name: string, work: () => Promise<unknown>): Promise<void>

/** Runs the project's Node; resolves to the exit code. */
export function launch(args: readonly string[]): Promise<number>
