// Files that somebody imports or sends by mistake, and their kinds.

export interface WrongFile {
  readonly name: string
  readonly bytes: Uint8Array
  /** As a sentence names it. */
  readonly is: string
}

const ascii = (text: string) => Buffer.from(text, 'latin1')
const utf16 = (text: string) => Buffer.from(text, 'utf16le')

/** A ZIP archive of uncompressed files (APPNOTE 6.3.3, 4.3.7), without a directory. */
function zip(files: Readonly<Record<string, string>>): Buffer {
  const parts = Object.entries(files).map(([name, content]) => {
    const header = Buffer.alloc(30)
    header.writeUInt32LE(0x04034b50)
    header.writeUInt16LE(20, 4)
    header.writeUInt32LE(content.length, 18)
    header.writeUInt32LE(content.length, 22)
    header.writeUInt16LE(name.length, 26)
    return Buffer.concat([header, ascii(name), ascii(content)])
  })
  return Buffer.concat(parts)
}

/** The header of a compound file (MS-CFB, 2.2) and the name of one of its streams. */
const compound = (stream: string) =>
  Buffer.concat([
    Buffer.from('d0cf11e0a1b11ae1', 'hex'),
    Buffer.alloc(504),
    utf16('Root Entry'),
    Buffer.alloc(44),
    utf16(stream),
  ])

const rtf = ascii('{\\rtf1\\ansi\\deff0 {\\fonttbl {\\f0 Times;}}\r\n\\f0\\fs60 The wind\\par\r\n}')
const pdf = ascii('%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\ntrailer\n<< /Root 1 0 R >>\n%%EOF\n')
const docx = zip({ '[Content_Types].xml': '<Types/>', 'word/document.xml': '<w:document/>' })
const mail =
  'Return-Path: <ann@example.org>\r\nReceived: from a.example.org\r\n\tby b.example.org\r\nFrom: Ann <ann@example.org>\r\nSubject: Wind\r\nMessage-ID: <1@example.org>\r\n\r\nNine metres.\r\n'
const archive =
  'From: <Saved by Blink>\r\nSnapshot-Content-Location: https://example.org/\r\nSubject: Wind\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related;\r\n\ttype="text/html";\r\n\tboundary="----a"\r\n\r\n------a\r\nContent-Type: text/html\r\n\r\n<p>=20'

const image = 'an image'
const compressed = 'a compressed file'
const message = 'an e-mail message'

export const wrongFiles: readonly WrongFile[] = [
  { name: 'report.rtf', bytes: rtf, is: 'a rich text document (RTF)' },
  { name: 'notes.txt', bytes: rtf, is: 'a rich text document (RTF)' },
  {
    name: 'notes.md',
    bytes: Buffer.concat([ascii('\xef\xbb\xbf\n'), rtf]),
    is: 'a rich text document (RTF)',
  },
  { name: 'mail.eml', bytes: ascii(mail), is: message },
  {
    name: 'inbox.mbox',
    bytes: ascii(`From ann@example.org Sat Jan  3 01:05:34 2026\r\n${mail}`),
    is: message,
  },
  { name: '12.emlx', bytes: ascii(`274\n${mail.replaceAll('\r', '')}`), is: message },
  { name: 'page.mhtml', bytes: ascii(archive), is: 'a web archive (MHTML)' },
  {
    name: 'page.html',
    bytes: ascii(archive.slice(archive.indexOf('MIME'))),
    is: 'a web archive (MHTML)',
  },
  { name: 'ascii.pdf', bytes: pdf, is: 'a PDF document' },
  { name: 'scan.md', bytes: Buffer.concat([pdf, Buffer.from([0, 1, 2, 255])]), is: 'a PDF document' },
  { name: 'plot.ps', bytes: ascii('%!PS-Adobe-3.0\nshowpage\n'), is: 'a PostScript document' },
  { name: 'report.docx', bytes: docx, is: 'a Word document' },
  { name: 'report.txt', bytes: docx, is: 'a Word document' },
  { name: 'old.doc', bytes: compound('WordDocument'), is: 'a Word document' },
  { name: 'old.xls', bytes: compound('Workbook'), is: 'a spreadsheet' },
  { name: 'wind.msg', bytes: compound('__substg1.0_001A001E'), is: 'an Outlook message' },
  { name: 'old.pub', bytes: compound('Contents'), is: 'a document of an older Office program' },
  {
    name: 'letter.odt',
    bytes: zip({ mimetype: 'application/vnd.oasis.opendocument.text' }),
    is: 'an OpenDocument text',
  },
  {
    name: 'letter.fodt',
    bytes: ascii('<?xml version="1.0"?>\n<office:document>\n'),
    is: 'a document saved as XML',
  },
  { name: 'table.xlsx', bytes: zip({ 'xl/workbook.xml': '<workbook/>' }), is: 'a spreadsheet' },
  { name: 'slides.pptx', bytes: zip({ 'ppt/presentation.xml': '<p/>' }), is: 'a presentation' },
  { name: 'book.epub', bytes: zip({ mimetype: 'application/epub+zip' }), is: 'an electronic book (EPUB)' },
  { name: 'all.zip', bytes: zip({ 'a.txt': 'a' }), is: compressed },
  { name: 'log.gz', bytes: Buffer.from('1f8b0800000000000003', 'hex'), is: compressed },
  { name: 'photo.png', bytes: Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), is: image },
  { name: 'photo.txt', bytes: Buffer.from('ffd8ffe000104a46494600', 'hex'), is: image },
  {
    name: 'drawing.svg',
    bytes: ascii('<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/></svg>\n'),
    is: 'an SVG image',
  },
  { name: 'song.mp3', bytes: ascii('ID3\x03\0\0\0\0\x0f'), is: 'a sound' },
  { name: 'setup.exe', bytes: ascii('MZ\x90\0\x03\0\0\0'), is: 'a program' },
  {
    name: 'dates.ics',
    bytes: ascii('BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n'),
    is: 'a calendar',
  },
  { name: 'ann.vcf', bytes: ascii('BEGIN:VCARD\r\nFN:Ann\r\nEND:VCARD\r\n'), is: 'a contact (vCard)' },
  {
    name: 'wind.ipynb',
    bytes: ascii('{\n "cells": [],\n "metadata": {},\n "nbformat": 4,\n "nbformat_minor": 5\n}\n'),
    is: 'a Jupyter notebook',
  },
  {
    name: 'secret.asc',
    bytes: ascii('-----BEGIN PGP MESSAGE-----\n\nhQEM\n-----END PGP MESSAGE-----\n'),
    is: 'an encrypted message',
  },
  {
    name: 'id_ed25519',
    bytes: ascii('-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----\n'),
    is: 'a private key',
  },
]
