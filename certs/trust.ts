// Makes this user's browsers trust a certificate authority, and undoes it: the commands of each system.

import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'

/** What a plan depends on. */
export interface System {
  readonly platform: NodeJS.Platform
  readonly home: string
  /** Names in a folder; empty if it does not exist. */
  readonly list: (folder: string) => readonly string[]
}

export interface Step {
  /** What trusts the certificate, or no longer does: `Chromium and Chrome`. */
  readonly who: string
  /** Folders to create first. */
  readonly folders: readonly string[]
  /** Succeeds where the authority is. Null if the other commands are always run. */
  readonly finding: Command | null
  readonly commands: readonly Command[]
}

/** The program comes first. */
export type Command = readonly [string, ...string[]]

/** Half a sentence for a system that lacks a command. */
export const missing: Readonly<Record<string, string>> = {
  certutil: 'install libnss3-tools (Debian, Ubuntu), nss-tools (Fedora) or nss (Arch)',
  security: 'it is part of macOS',
  'certutil.exe': 'it is part of Windows',
}

interface Wanted {
  readonly system: System
  /** PEM. */
  readonly authority: string
  readonly authorityFile: string
  readonly undo: boolean
}

/**
 * The steps for this user alone: nothing needs an administrator. With `undo`, only for stores that may have the
 * authority. Firefox on macOS and Windows reads the system's store.
 */
export function planTrust({ system, authority, authorityFile, undo }: Wanted): Step[] {
  const { fingerprint, fingerprint256 } = new X509Certificate(authority)
  const sha1 = fingerprint.replaceAll(':', '')
  // Each installation has an authority of its own.
  const name = `Crosswind ${fingerprint256.replaceAll(':', '').slice(0, 8)}`
  const { platform, home } = system
  if (platform === 'darwin') {
    const keychain = join(home, 'Library/Keychains/login.keychain-db')
    const add = ['security', 'add-trusted-cert', '-r', 'trustRoot', '-k', keychain, authorityFile] as const
    const untrust = ['security', 'remove-trusted-cert', authorityFile] as const
    const remove = ['security', 'delete-certificate', '-Z', sha1, keychain] as const
    return [
      { who: 'the login keychain', folders: [], finding: null, commands: undo ? [untrust, remove] : [add] },
    ]
  }
  if (platform === 'win32') {
    const add = ['certutil.exe', '-user', '-addstore', 'Root', authorityFile] as const
    const remove = ['certutil.exe', '-user', '-delstore', 'Root', sha1] as const
    const find = ['certutil.exe', '-user', '-verifystore', 'Root', sha1] as const
    return [
      {
        who: 'your Windows account',
        folders: [],
        finding: undo ? find : null,
        commands: [undo ? remove : add],
      },
    ]
  }
  return storesOf(system).flatMap(({ who, folder, isMade }): Step[] => {
    const store = `sql:${folder}`
    const remove = ['certutil', '-d', store, '-D', '-n', name] as const
    const find = ['certutil', '-d', store, '-L', '-n', name] as const
    if (undo) return isMade ? [{ who, folders: [], finding: find, commands: [remove] }] : []
    const make = ['certutil', '-d', store, '-N', '--empty-password'] as const
    const add = ['certutil', '-d', store, '-A', '-t', 'C,,', '-n', name, '-i', authorityFile] as const
    return [{ who, folders: isMade ? [] : [folder], finding: null, commands: isMade ? [add] : [make, add] }]
  })
}

interface NssStore {
  readonly who: string
  readonly folder: string
  readonly isMade: boolean
}

/** Firefox has a store for each profile; Chromium and Chrome share one, which this may create. */
function storesOf({ home, list }: System): NssStore[] {
  const isMade = (folder: string) => list(folder).includes('cert9.db')
  const shared = join(home, '.pki/nssdb')
  const snap = join(home, 'snap/chromium/current/.pki/nssdb')
  const profiles = [
    '.mozilla/firefox',
    'snap/firefox/common/.mozilla/firefox',
    '.var/app/org.mozilla.firefox/.mozilla/firefox',
  ]
    .map((folder) => join(home, folder))
    .flatMap((folder) => list(folder).map((profile) => join(folder, profile)))
  return [
    { who: 'Chromium and Chrome', folder: shared, isMade: isMade(shared) },
    ...[snap].filter(isMade).map((folder) => ({ who: 'Chromium (snap)', folder, isMade: true })),
    ...profiles.filter(isMade).map((folder) => ({ who: `Firefox, ${folder}`, folder, isMade: true })),
  ]
}
