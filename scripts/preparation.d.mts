// Types of preparation.mjs for TypeScript.

export function findPrograms(name: 'chromium'): {
  readonly CROSSWIND_CHROMIUM: string
  readonly CROSSWIND_CHROMEDRIVER: string
}
export function findPrograms(name: 'firefox'): { readonly CROSSWIND_FIREFOX: string }

/** All files below a path, or the file itself; relative to the project's root. */
export function filesBelow(path: string): string[]
