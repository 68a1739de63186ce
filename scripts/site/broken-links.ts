// Checks the links of a built site: each leads to a file of it and, with an anchor, to an element there.

import { globSync, readFileSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'

/** Lists the links between pages that lead nowhere, as `page: link`. `base`: the site's path on its host. */
export function brokenLinks(folder: string, base = '/'): string[] {
  const paths = globSync('**/*.html', { cwd: folder })
  const pages = new Map(paths.map((path) => [path, readFileSync(join(folder, path), 'utf8')]))
  const ids = new Map(Array.from(pages, ([path, html]) => [path, valuesOf(html, 'id')]))
  return Array.from(pages).flatMap(([path, html]) => {
    const links = [...valuesOf(html, 'href'), ...valuesOf(html, 'src')]
    const inside = links.filter((link) => !/^(\w+:|\/\/)/.test(link))
    return inside.filter((link) => !leads(path, link)).map((link) => `${path}: ${link}`)
  })

  function leads(from: string, link: string): boolean {
    const { pathname, hash } = new URL(link, `http://localhost${base}${from}`)
    if (!pathname.startsWith(base)) return false
    const path = decodeURIComponent(pathname.slice(base.length)).replace(/(^|\/)$/, '$1index.html')
    const found = ids.get(posix.normalize(path))
    if (found === undefined) return hash === '' && isFile(join(folder, path))
    return hash === '' || found.has(decodeURIComponent(hash.slice(1)))
  }
}

const isFile = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile() === true

function valuesOf(html: string, attribute: string): Set<string> {
  const found = html.matchAll(new RegExp(` ${attribute}="([^"]*)"`, 'g'))
  return new Set(Array.from(found, ([, value = '']) => value.replaceAll('&amp;', '&')))
}
