// What the TypeScript parts use of browser.mjs.

export interface BrowserPrograms {
  readonly CROSSWIND_CHROMIUM: string
  readonly CROSSWIND_CHROMEDRIVER: string
}

export function findBrowser(): BrowserPrograms | null
export const advice: string
