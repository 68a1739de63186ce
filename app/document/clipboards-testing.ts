// Clipboards of word processors, pages and plain programs, and the part that the document keeps.

export interface Clipboard {
  readonly name: string
  /** Empty if the clipboard has none. */
  readonly html: string
  readonly text: string
  /** As the document's own HTML. */
  readonly kept: string
  readonly unkept?: readonly string[]
}

/** The smallest GIF. */
export const smallImage = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'

const wordItem = (marker: string, level: number, words: string) =>
  `<p class=MsoListParagraphCxSpMiddle style='margin-left:${level * 0.5}in;text-indent:-.25in;mso-list:l0 level${level} lfo1'><![if !supportLists]><span
style='font-family:Symbol;mso-bidi-font-family:Symbol'><span style='mso-list:Ignore'>${marker}<span
style='font:7.0pt "Times New Roman"'>&nbsp;&nbsp;&nbsp;&nbsp; </span></span></span><![endif]>${words}<o:p></o:p></p>
`

const word = `<html xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office"
xmlns:w="urn:schemas-microsoft-com:office:word" xmlns="http://www.w3.org/TR/REC-html40">
<head><meta http-equiv=Content-Type content="text/html; charset=utf-8"><meta name=Generator content="Microsoft Word 15">
<link rel=File-List href="file:///C:/Users/a/AppData/Local/Temp/msohtmlclip1/01/clip_filelist.xml">
<!--[if gte mso 9]><xml><w:WordDocument><w:View>Normal</w:View></w:WordDocument></xml><![endif]-->
<style><!-- /* Style Definitions */ p.MsoNormal {margin:0in; font-size:11.0pt;} --></style></head>
<body lang=EN-GB style='tab-interval:36.0pt;word-wrap:break-word'><!--StartFragment-->
<h1>The wind<o:p></o:p></h1>
<p class=MsoNormal>It blew <b>hard</b>, and<span style='mso-spacerun:yes'>  </span>the gusts <i
style='mso-bidi-font-style:normal'>came
late</i>.<o:p></o:p></p>
<p class=MsoNormal align=center style='text-align:center'>In the <s>middle</s> m<sup>2</sup><o:p></o:p></p>
<p class=MsoNormal><o:p>&nbsp;</o:p></p>
${wordItem('·', 1, 'North')}${wordItem('o', 2, 'by <u>east</u>')}${wordItem('·', 1, 'South')}
<p class=MsoQuote>Said he<o:p></o:p></p>
<p class=MsoNormal><!--[if gte vml 1]><v:shape id="p1" style='width:90pt'><v:imagedata src="file:///C:/clip_image001.png"/></v:shape><![endif]--><![if !vml]><img
width=120 height=90 src="file:///C:/Users/a/AppData/Local/Temp/msohtmlclip1/01/clip_image001.png" v:shapes="p1"><![endif]><o:p></o:p></p>
<p class=MsoNormal><span style='display:none;mso-hide:all'>hidden</span><a href="https://example.org/a?b=1&amp;c=2"><span style='color:#0563C1;text-decoration:underline'>A page</span></a><o:p></o:p></p>
${wordItem('1.', 1, 'First')}${wordItem('a)', 2, 'A')}${wordItem('2.', 1, 'Second')}
<!--EndFragment--></body></html>`

const docsSpan = (style: string, words: string) =>
  `<span style="font-size:11pt;font-family:Arial,sans-serif;color:#000000;background-color:transparent;font-weight:400;font-style:normal;font-variant:normal;text-decoration:none;vertical-align:baseline;white-space:pre;white-space:pre-wrap;${style}">${words}</span>`
const docsItem = (level: number, words: string) =>
  `<li dir="ltr" style="list-style-type:disc;font-size:11pt;white-space:pre;" aria-level="${level}"><p dir="ltr" style="line-height:1.38;margin-top:0pt;" role="presentation">${docsSpan('', words)}</p></li>`

const googleDocs = `<meta charset='utf-8'><meta charset="utf-8"><b style="font-weight:normal;" id="docs-internal-guid-5d1f"><h2 dir="ltr" style="line-height:1.38;"><span style="font-size:16pt;font-weight:400;">Gusts</span></h2><p dir="ltr" style="line-height:1.38;text-align:right;"><span style="font-weight:700;white-space:pre-wrap;">Bold</span>${'<span style="font-weight:400;white-space:pre-wrap;"> and </span>'}<span style="font-weight:400;font-style:italic;white-space:pre-wrap;">slanted</span></p><br /><p dir="ltr"><span style="font-weight:400;">H</span><span style="font-size:0.6em;vertical-align:sub;">2</span><span>O, </span><a href="mailto:a@example.org" style="text-decoration:none;"><span style="color:#1155cc;text-decoration:underline;">write</span></a></p><ul style="margin-top:0;">${docsItem(1, 'one')}<ul>${docsItem(2, 'two')}</ul>${docsItem(1, 'three')}</ul></b><br class="Apple-interchange-newline">`

export const clipboards: readonly Clipboard[] = [
  {
    name: 'Word: heading, marks, centred, lists of paragraphs, quote, linked words, a picture on its own disk',
    html: word,
    text: 'The wind',
    kept:
      '<h1>The wind</h1><p>It blew <b>hard</b>, and the gusts <i>came late</i>.</p>' +
      '<p align="center">In the <s>middle</s> m<sup>2</sup></p>' +
      '<ul><li>North<ul><li>by <u>east</u></li></ul></li><li>South</li></ul><blockquote>Said he</blockquote>' +
      '<p>[image: clip_image001.png]</p><p><a href="https://example.org/a?b=1&amp;c=2">A page</a></p>' +
      '<ol><li>First<ol><li>A</li></ol></li><li>Second</li></ol>',
    unkept: ['clip_image001.png'],
  },
  {
    name: 'Google Docs: bold and italic as styles in a wrapper that is not bold, nested lists',
    html: googleDocs,
    text: 'Gusts',
    kept:
      '<h2>Gusts</h2><p align="right"><b>Bold</b> and <i>slanted</i></p>' +
      '<p>H<sub>2</sub>O, <a href="mailto:a@example.org">write</a></p>' +
      '<ul><li>one<ul><li>two</li></ul></li><li>three</li></ul>',
  },
  {
    name: 'LibreOffice: fonts, paragraphs in items, a table',
    html: `<!DOCTYPE html><html><head><meta name="generator" content="LibreOffice 24.8 (Linux)"/><style type="text/css">p { line-height: 115% }</style></head><body lang="en-GB" dir="ltr">
<h3 class="western">Stations</h3><p style="line-height: 100%; margin-bottom: 0in"><font face="Liberation Serif, serif"><font size="3" style="font-size: 12pt"><b>Two</b> of
them</font></font></p><ol><li><p style="margin-bottom: 0in">Oslo</p></li><li><p>Bergen</p></li></ol>
<table width="100%" cellpadding="4"><col width="128*"/><thead><tr><th><p align="left">Place</p></th><th><p>Wind</p></th></tr></thead><tbody><tr valign="top"><td><p>Oslo</p></td><td><p>4 m/s</p><p>gusts 9</p></td></tr><tr><td><p><br/></p></td><td><p>calm</p></td></tr></tbody></table></body></html>`,
    text: 'Stations',
    kept:
      '<h3>Stations</h3><p><b>Two</b> of them</p><ol><li>Oslo</li><li>Bergen</li></ol>' +
      '<p><b>Place</b> | <b>Wind</b></p><p>Oslo | 4 m/s gusts 9</p><p>| calm</p>',
    unkept: ['the columns of a table'],
  },
  {
    name: 'a page: code, quote, definition, boxes without words between them, nothing that acts or styles',
    html: `<style>p{color:red}</style><div onclick="a()" style="position:fixed;color:red"><div>one</div><div>two<script>b()</script></div></div><pre class="hljs"><code><span style="color:red">if</span> (a &lt; b)
    c()</code></pre><blockquote><p>Q1</p><p>Q2 <kbd>Esc</kbd></p></blockquote><dl><dt>Term</dt><dd>Meaning</dd></dl><p>a<br>b<br><br>c</p><a href="javascript:alert(1)">bad</a> <a href="/relative">rel</a><iframe src="https://example.org/film" style="border:0"></iframe><svg style="fill:red"><text>x</text></svg>`,
    text: '',
    kept:
      '<p>one</p><p>two</p><pre>if (a &lt; b)\n    c()</pre><blockquote>Q1</blockquote>' +
      '<blockquote>Q2 <code>Esc</code></blockquote><p><b>Term</b></p><p>Meaning</p><p>a<br>b</p><p>c</p>' +
      '<p>bad <a href="/relative">rel</a>[page: film]</p>',
    unkept: ['the address javascript:alert(1)', 'film'],
  },
  {
    name: 'images: small ones are kept, others named, counting pixels dropped',
    html: `<p>x<img src="${smallImage}" alt="dot" onerror="a()"><img src="https://example.org/pics/my%20cat.png?w=3" style="width:9px"><img src="https://example.org/t.gif" width="1" height="1"><img src="data:image/svg+xml;base64,AAAA" alt="A map"><img src="data:image/png;base64,${'A'.repeat(100_000)}"></p>`,
    text: '',
    kept: `x<img src="${smallImage}" alt="dot"><a href="https://example.org/pics/my%20cat.png?w=3">[image: my cat.png]</a>[image: A map][image]`,
    unkept: ['my cat.png', 'A map', 'image'],
  },
  {
    name: 'a code editor: lines of a box of fixed-width type are one code block',
    html: `<meta charset='utf-8'><div style="color: #d4d4d4;background-color: #1e1e1e;font-family: Consolas, 'Courier New', monospace;font-size: 14px;line-height: 19px;white-space: pre;"><div><span style="color: #c586c0;">for</span><span> (;;) {</span></div><div><span>    wait()</span></div><br><div>}</div></div>`,
    text: 'for (;;) {',
    kept: '<pre>for (;;) {\n    wait()\n\n}</pre>',
  },
  {
    name: 'words of one paragraph join the line: hard spaces as a browser copies them',
    html: '<html><body>\n<!--StartFragment--><p style="font-weight: 400">some <span>words</span>,&nbsp; 5&nbsp;km</p><!--EndFragment-->\n</body></html>',
    text: 'some words',
    kept: 'some words,  5&nbsp;km',
  },
  {
    name: 'plain text: a blank line ends a paragraph, a single one a line',
    html: '',
    text: 'One\r\n  two <b>\r\n\r\n\r\nThree\n',
    kept: '<p>One<br>  two &lt;b&gt;</p><p>Three</p>',
  },
  {
    name: 'nested lists that leave out a level, tasks, and text after a nested list',
    html: '<ul><ul><li>deep</li><li>deeper</li></ul><li><input type="checkbox" checked>done<ol><li>first</li></ol>after</li></ul>',
    text: '',
    kept: '<ul><li>deep</li><li>deeper</li></ul><ul><li>☑ done<ol><li>first</li></ol></li><li>after</li></ul>',
  },
  {
    name: 'broken HTML keeps its words',
    html: 'a < b <p title=x">y</p',
    text: 'a < b',
    kept: '<p>a &lt; b</p><p>y</p>',
  },
]
