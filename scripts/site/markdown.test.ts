import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anchorsIn, linksIn, plain, samplesIn, titleOf, withLinks } from './markdown.ts'

const page = `# The *page*, and \`code\`

See [one](one.md) and [\`two\`](two.md#a), but not \`[three](three.md)\`, nor \`a span
over [two](lines.md)\`.

\`\`\`js
const link = '[four](four.md)' // # no heading
\`\`\`

## What it’s for

![a picture](picture.svg)

## What it’s for
`

test('links and pictures outside code are found, and replaced', () => {
  assert.deepEqual(linksIn(page), ['one.md', 'two.md#a', 'picture.svg'])
  const changed = withLinks(page, (target) => `](/${target})`)
  assert.deepEqual(linksIn(changed), ['/one.md', '/two.md#a', '/picture.svg'])
  assert.equal(changed.replaceAll('](/', ']('), page)
})

test('headings have the anchors that GitHub gives them, and equal ones a number', () => {
  assert.deepEqual([...anchorsIn(page)], ['the-page-and-code', 'what-its-for', 'what-its-for-1'])
  assert.deepEqual(
    [...anchorsIn('## `publish(data)` & `a_b`\n## [PROTOCOL](P.md): **all** of it')],
    ['publishdata--a_b', 'protocol-all-of-it'],
  )
})

test('a title is plain text', () => {
  assert.equal(titleOf(page), 'The page, and code')
  assert.equal(plain('[a\nlink](b.md) and `code`'), 'a link and code')
  assert.throws(() => titleOf('No title'), /A page has no title: No title/)
})

test('a sample has its language and its line', () => {
  const samples = samplesIn(`${page}\n### Deep\n\`\`\`\nlast\n\`\`\`\n`)
  assert.deepEqual(samples, [
    {
      language: 'js',
      code: "const link = '[four](four.md)' // # no heading\n",
      line: 7,
    },
    { language: '', code: 'last\n', line: 18 },
  ])
})
