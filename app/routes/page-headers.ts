// Headers of the page and its workers: what they may load, and from where.

/** Additional sources that a policy allows (CSP 3, 2.3.1). */
export interface MoreSources {
  /** Sources of scripts and styles. */
  readonly inline: readonly string[]
  readonly connect: readonly string[]
}

export function pageHeaders(
  hostname: string,
  ports: readonly number[],
  { inline, connect }: MoreSources = { inline: [], connect: [] },
): Record<string, string> {
  const policy = [
    "default-src 'none'",
    ["script-src 'self'", ...inline].join(' '),
    ["style-src 'self'", ...inline].join(' '),
    "img-src 'self' data:",
    "worker-src 'self'",
    [connectSources(hostname, ports), ...connect].join(' '),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]
  return {
    'Content-Security-Policy': policy.join('; '),
    'Referrer-Policy': 'no-referrer',
    'Permissions-Policy': 'camera=(), microphone=(), geolocation=()',
    // For a clock resolution of 5 µs instead of 100 µs (High Resolution Time, 10.1).
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Embedder-Policy': 'require-corp',
  }
}

/** A shared worker has its own policy: connections only. */
export function workerHeaders(hostname: string, ports: readonly number[]): Record<string, string> {
  return {
    'Content-Security-Policy': `default-src 'none'; script-src 'self'; ${connectSources(hostname, ports)}`,
    'Cross-Origin-Embedder-Policy': 'require-corp',
  }
}

function connectSources(hostname: string, ports: readonly number[]): string {
  const own = ports.flatMap((port) => [`https://${hostname}:${port}`, `wss://${hostname}:${port}`])
  return `connect-src 'self' ${own.join(' ')}`
}
