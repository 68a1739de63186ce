// Figures as people read them, and text that cannot be read as markup.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { escapeHtml, escapeMarkdown, markdownCode } from './escape.ts'
import { count, figure, interval, megabytes, moment, probability, signed, spread } from './format.ts'

test('figures have few digits, a true minus and a dash for nothing', () => {
  assert.deepEqual([1.234, 12.34, 123.4, -0.5, null, Number.NaN].map(figure), [
    '1.23',
    '12.3',
    '123',
    '−0.50',
    '–',
    '–',
  ])
  assert.equal(signed(0.3), '+0.30')
  assert.equal(interval([-1.2, 0.4]), '−1.20 to 0.40')
  assert.deepEqual([spread(2, 0.5), spread(2, null), spread(null, null)], ['2.00 ± 0.50', '2.00', '–'])
  assert.deepEqual([count(1200), megabytes(94_300_000), megabytes(null)], ['1,200', '94 MB', '–'])
})

test('a small p keeps its power of ten', () => {
  assert.deepEqual([0.0414, 2.21e-7, 3.7e-24, 0].map(probability), [
    '0.041',
    '2.2 × 10⁻⁷',
    '3.7 × 10⁻²⁴',
    '< 10⁻³⁰⁰',
  ])
})

test('a moment is short, and what is none stays', () => {
  assert.equal(moment('2026-05-12T09:30:59.123Z'), '2026-05-12 09:30 UTC')
  assert.equal(moment('yesterday'), 'yesterday')
})

test('markup is escaped', () => {
  assert.equal(escapeHtml(`<a href="x">&'`), '&lt;a href=&quot;x&quot;&gt;&amp;&#39;')
  assert.equal(escapeMarkdown('a|b *c* [d](e)\n<f>'), 'a\\|b \\*c\\* \\[d\\](e) &lt;f&gt;')
  assert.equal(markdownCode('echo ```'), '````sh\necho ```\n````')
})
