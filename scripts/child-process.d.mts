// Types of child-process.mjs for TypeScript.

export const serverFlags: readonly string[]
