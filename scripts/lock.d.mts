// Types of lock.mjs for TypeScript.

export function exclusively<Result>(
  file: string,
  work: () => Promise<Result>,
  options: { readonly staleMs: number; readonly onWait?: () => void },
): Promise<Result>
