// Files in the encodings that programs save in.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { writeHtml } from '../../app/document/html.ts'
import { wrongFiles } from '../../app/document/wrong-files-testing.ts'
import { readImport } from './import-file.ts'

const bytes = (text: string) => Buffer.from(text, 'latin1')
const read = (name: string, content: Buffer | string, type = '') =>
  readImport(new File([content as BlobPart], name, { type }))

const files: [what: string, name: string, content: Buffer | string, html: string][] = [
  [
    'HTML that declares windows-1252, as Word saves it',
    'a.htm',
    bytes(
      '<html><meta http-equiv=Content-Type content="text/html; charset=windows-1252"><p>V\xe4dret \x96 5\x80',
    ),
    '<p>Vädret – 5€</p>',
  ],
  [
    'HTML that declares windows-1251',
    'a.html',
    bytes('<meta charset="windows-1251"><p>\xcf\xee\xe3\xee\xe4\xe0'),
    '<p>Погода</p>',
  ],
  [
    'HTML that declares Shift_JIS',
    'a.html',
    bytes('<meta charset=shift_jis><p>\x93\x56\x8b\x43'),
    '<p>天気</p>',
  ],
  ['HTML in UTF-8 that declares no encoding', 'a.html', '<p>Vädret</p>', '<p>Vädret</p>'],
  ['text in UTF-16 with a byte order mark', 'a.txt', bytes('\xff\xfeV\x00\xe4\x00'), '<p>Vä</p>'],
  ['text in UTF-8 with a byte order mark', 'a.txt', '\ufeffVä', '<p>Vä</p>'],
  ['HTML with another name', 'a.xls', '\n<!DOCTYPE html>\n<p>V&auml;</p>', '<p>Vä</p>'],
  ['Markdown that begins with HTML', 'a.md', '<html>\n\n# a', '<h1>a</h1>'],
  ['Markdown in UTF-8', 'a.md', '# Vä\n\n**x**', '<h1>Vä</h1>\n<p><b>x</b></p>'],
]

for (const [what, name, content, html] of files)
  test(what, async () => {
    const { lines, notes } = await read(name, content)
    assert.deepEqual([writeHtml(lines), notes], [html, []])
  })

test('reads text and Markdown in Latin-1, and reports the assumed encoding', async () => {
  for (const name of ['a.txt', 'a.md']) {
    const { lines, notes } = await read(name, bytes('V\xe4dret'))
    const note = 'It was read as windows-1252, since it is not in UTF-8.'
    assert.deepEqual([writeHtml(lines), notes], ['<p>Vädret</p>', [note]])
  }
})

test('rejects a file that cannot be decoded, and says how to fix it', async () => {
  await assert.rejects(
    read('a.txt', bytes('\x93\x56\x8b\x43\x81\x41')),
    /encoding of a\.txt is unknown; save it in UTF-8/,
  )
  await assert.rejects(
    read('a.html', bytes('<meta charset=utf-8>V\xe4')),
    /a\.html is not in UTF-8, the encoding that it declares/,
  )
  await assert.rejects(read('a.txt', 'a\0b'), /a\.txt is not text/)
})

for (const { name, bytes, is } of wrongFiles)
  test(`rejects ${name}, says what it is, and what to do`, async () => {
    const file = new File([bytes as BlobPart], name)
    await assert.rejects(readImport(file), ({ message }: Error) => {
      const start = `${name} is ${is}, which cannot be imported: `
      assert.ok(message.startsWith(start) && message.length > start.length + 10, message)
      assert.doesNotMatch(message, /UTF-8/)
      return true
    })
  })

test('rejects files without content: nothing is imported', async () => {
  await assert.rejects(read('a.txt', ''), /^Error: a\.txt is empty; nothing was imported\.$/)
  for (const [name, content] of [
    ['a.md', '\n \n'],
    ['a.html', '<script>a()</script>'],
    ['a.txt', '\ufeff\r\n'],
  ] as const)
    await assert.rejects(read(name, content), /contains no text; nothing was imported\.$/)
})

test('a large file is first said to be of another kind, then to be too large', async () => {
  const large = Buffer.alloc(5_000_001, 'a')
  await assert.rejects(read('a.txt', large), /a\.txt is too large to import; the limit is 5 MB/)
  await assert.rejects(read('a.txt', Buffer.concat([bytes('%PDF-1.7\n'), large])), /a\.txt is a PDF document/)
})
