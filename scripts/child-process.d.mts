// Types of child-process.mjs for TypeScript.

export const serverFlags: readonly string[]
export const serverEnvironment: Readonly<Record<string, string>>

/** Runs the project's Node; resolves to the exit code. */
export function launch(args: readonly string[]): Promise<number>
