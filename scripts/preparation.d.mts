// The types of preparation.mjs that TypeScript uses.

export function findBrowser(name: 'chromium'): {
  readonly CROSSWIND_CHROMIUM: string
  readonly CROSSWIND_CHROMEDRIVER: string
}
export function findBrowser(name: 'firefox'): { readonly CROSSWIND_FIREFOX: string }
