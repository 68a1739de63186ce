// Texts that a careless framing would cut, join, or take for its own.

export const hostileTexts: readonly string[] = [
  '',
  'a\nb',
  'a\r\nb\rc',
  '\n\nevent: bye\ndata: {}',
  ': x',
  '\uFEFF',
  '\u2028\u2029',
  '💨 ŝŭ',
  '\0',
  '</script>',
]
