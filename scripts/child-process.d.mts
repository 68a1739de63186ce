// The types of child-process.mjs that TypeScript uses.

export const serverFlags: readonly string[]
