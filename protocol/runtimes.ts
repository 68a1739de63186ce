// Names what runs a program, by the versions that its process reports.

/** `process.versions`: Bun and Deno also report the Node that they imitate. */
export interface Versions {
  readonly node: string
  readonly bun?: string
  readonly deno?: string
}

/** Such as `Node 20.20.2`. */
export function runtimeName({ node, bun, deno }: Versions): string {
  if (bun) return `Bun ${bun}`
  return deno ? `Deno ${deno}` : `Node ${node}`
}
