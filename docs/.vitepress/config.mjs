// The documentation's site, which `npm run docs` builds from the pages in dist/site-source.

import { slugOf } from '../../scripts/site/markdown.ts'
import { addressOf, navigation, read } from '../../scripts/site/navigation.ts'

const linkOf = (path) => `/${addressOf(path)}`
const capitalized = (text) => text.charAt(0).toUpperCase() + text.slice(1)

const groups = navigation()
const icon = encodeURIComponent(read('web/page/favicon.svg'))

export default {
  title: 'Crosswind',
  description: 'Keeps browser windows in step, as an application and a library, and measures transports.',
  lang: 'en',
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: `data:image/svg+xml,${icon}` }]],
  // The build checks all links, and anchors too.
  ignoreDeadLinks: true,
  srcDir: '../dist/site-source',
  outDir: '../dist/site',
  cacheDir: '../node_modules/.cache/vitepress',
  vite: { logLevel: 'warn', build: { chunkSizeWarningLimit: 2000 } },
  markdown: { anchor: { slugify: slugOf } },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: [
      {
        text: 'Start',
        items: [
          { text: 'What it is', link: '/' },
          { text: 'Quick start', link: linkOf('docs/library.md#quick-start') },
        ],
      },
      ...groups.map(({ name, pages }) => ({
        text: name,
        items: pages.map((page) => ({
          text: page.name,
          link: linkOf(page.path),
          ...(page.parts.length > 0 && {
            collapsed: true,
            items: page.parts.map((part) => ({ text: capitalized(part.name), link: linkOf(part.path) })),
          }),
        })),
      })),
    ],
  },
}
