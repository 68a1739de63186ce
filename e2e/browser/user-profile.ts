// A browser as a user has set it up, who trusts no certificate but what the profile trusts.

import puppeteer from 'puppeteer-core'
import { findPrograms } from '../../scripts/preparation.mjs'
import type { BrowserName } from './browser.ts'

interface UserProfile {
  readonly home: string
  readonly profile: string
}

/** Whether it shows the page at an address, without a warning. */
export async function opensAs(
  name: BrowserName,
  { home, profile }: UserProfile,
  address: string,
): Promise<boolean> {
  const isChromium = name === 'chromium'
  const browser = await puppeteer.launch({
    browser: isChromium ? 'chrome' : 'firefox',
    executablePath: isChromium
      ? findPrograms('chromium').CROSSWIND_CHROMIUM
      : findPrograms('firefox').CROSSWIND_FIREFOX,
    userDataDir: profile,
    env: { ...process.env, HOME: home, MOZ_CRASHREPORTER_DISABLE: '1' },
    args: isChromium ? ['--no-sandbox', '--disable-gpu', '--disable-background-networking'] : [],
  })
  try {
    const page = await browser.newPage()
    const answer = await page.goto(address).catch(() => null)
    return answer?.status() === 200
  } finally {
    await browser.close()
  }
}
