// Types of preparation.mjs for TypeScript.

export function findPrograms(name: 'chromium'): {
  readonly CROSSWIND_CHROMIUM: string
  readonly CROSSWIND_CHROMEDRIVER: string
}
export function findPrograms(name: 'firefox'): { readonly CROSSWIND_FIREFOX: string }
