// Types of child-process.mjs for TypeScript.

export const serverFlags: readonly string[]
export const serverEnvironment: Readonly<Record<string, string>>
