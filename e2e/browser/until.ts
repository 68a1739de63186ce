// Waits for something that a page will come to, and says what it was when it does not.

const betweenMs = 20

/** Resolves as soon as it holds; rejects with the sentence when it has not after `withinMs`. */
export async function until(
  holds: () => Promise<boolean>,
  otherwise: string,
  withinMs = 10_000,
): Promise<void> {
  const end = performance.now() + withinMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`${otherwise} within ${withinMs / 1000} s.`)
    await new Promise((resolve) => setTimeout(resolve, betweenMs))
  }
}
