// Decodes character references: what `&eacute;` and `&#233;` stand for.

/** From U+00A0 to U+00FF, in order (HTML 4.01, 24.2). */
const latin1 = `nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3
  acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig
  Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave
  Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave
  iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml`

/** The other names of HTML 4.01 (24.3, 24.4) with `apos`, each before its character. */
const others = `quot " amp & apos ' lt < gt > OElig Œ oelig œ Scaron Š scaron š Yuml Ÿ circ ˆ tilde ˜ ndash – mdash —
  lsquo ‘ rsquo ’ sbquo ‚ ldquo “ rdquo ” bdquo „ dagger † Dagger ‡ permil ‰ lsaquo ‹ rsaquo › euro € fnof ƒ Alpha Α
  Beta Β Gamma Γ Delta Δ Epsilon Ε Zeta Ζ Eta Η Theta Θ Iota Ι Kappa Κ Lambda Λ Mu Μ Nu Ν Xi Ξ Omicron Ο Pi Π Rho Ρ
  Sigma Σ Tau Τ Upsilon Υ Phi Φ Chi Χ Psi Ψ Omega Ω alpha α beta β gamma γ delta δ epsilon ε zeta ζ eta η theta θ iota ι
  kappa κ lambda λ mu μ nu ν xi ξ omicron ο pi π rho ρ sigmaf ς sigma σ tau τ upsilon υ phi φ chi χ psi ψ omega ω
  thetasym ϑ upsih ϒ piv ϖ bull • hellip … prime ′ Prime ″ oline ‾ frasl ⁄ weierp ℘ image ℑ real ℜ trade ™ alefsym ℵ
  larr ← uarr ↑ rarr → darr ↓ harr ↔ crarr ↵ lArr ⇐ uArr ⇑ rArr ⇒ dArr ⇓ hArr ⇔ forall ∀ part ∂ exist ∃ empty ∅ nabla ∇
  isin ∈ notin ∉ ni ∋ prod ∏ sum ∑ minus − lowast ∗ radic √ prop ∝ infin ∞ ang ∠ and ∧ or ∨ cap ∩ cup ∪ int ∫ there4 ∴
  sim ∼ cong ≅ asymp ≈ ne ≠ equiv ≡ le ≤ ge ≥ sub ⊂ sup ⊃ nsub ⊄ sube ⊆ supe ⊇ oplus ⊕ otimes ⊗ perp ⊥ sdot ⋅ lceil ⌈
  rceil ⌉ lfloor ⌊ rfloor ⌋ lang ⟨ rang ⟩ loz ◊ spades ♠ clubs ♣ hearts ♥ diams ♦`

/** The same, but for characters that cannot be seen, or would be taken for the spaces between names. */
const unseen = {
  ensp: '\u2002',
  emsp: '\u2003',
  thinsp: '\u2009',
  zwnj: '\u200c',
  zwj: '\u200d',
  lrm: '\u200e',
  rlm: '\u200f',
}

const named: ReadonlyMap<string, string> = new Map([
  ...latin1.split(/\s+/).map((name, place) => [name, String.fromCodePoint(0xa0 + place)] as const),
  ...Array.from(
    others.matchAll(/(\w+) (\S)/g),
    ([, name = '', character = '']) => [name, character] as const,
  ),
  ...Object.entries(unseen),
])

/** What numbers from 0x80 to 0x9F mean: they are taken for Windows-1252 (WHATWG HTML, 13.2.5.80). */
const windows1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

const reference = /&(?:#(\d{1,7});?|#x([0-9a-f]{1,6});?|(\w+);)/gi

/**
 * Windows send `&amp;`, `&lt;`, `&gt;` and `&nbsp;` alone (WHATWG HTML, 13.3); the names of HTML 4 are known for those
 * who are no browsers. Of other names, and of one without its semicolon, nothing is made: they stay as they are.
 */
export function decodeReferences(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(reference, (whole, decimal?: string, hex?: string, name = '') => {
    if (decimal) return characterOf(Number(decimal))
    return hex ? characterOf(Number.parseInt(hex, 16)) : (named.get(name) ?? whole)
  })
}

function characterOf(code: number): string {
  const isSurrogate = code >= 0xd800 && code <= 0xdfff
  if (code === 0 || isSurrogate || code > 0x10ffff) return '\ufffd'
  return windows1252[code - 0x80] ?? String.fromCodePoint(code)
}
