// Pages with the structure that programs and sites produce, and the part that a document keeps.

import { smallImage } from './clipboards-testing.ts'

export interface CopiedPage {
  /** The program, and its peculiarity. */
  readonly name: string
  /** The content of `body`. */
  readonly page: string
  /** As the document's own HTML. */
  readonly kept: string
  /**
   * The same for a browser's copy, which omits everything not drawn, and has whole addresses: `PAGE` is
   * its own.
   */
  readonly keptCopied?: string
  readonly unkept?: readonly string[]
  /** The same of a browser's copy. */
  readonly unkeptCopied?: readonly string[]
  /** Read so only with the styles that Chromium copies. */
  readonly only?: 'chromium'
}

const code = '<pre>if (x) {\n  y()\n}</pre>'
const javascript = '<pre><code class="language-js">if (x) {\n  y()\n}</code></pre>'
const columns = 'the columns of a table'
const innerLinks = 'links to places within the text'

const katex = (display: boolean) =>
  `<span class="katex"><span class="katex-mathml"><math xmlns="http://www.w3.org/1998/Math/MathML"${
    display ? ' display="block"' : ''
  }><semantics><mrow><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup></mrow><annotation encoding="application/x-tex">E = mc^2</annotation></semantics></math></span><span class="katex-html" aria-hidden="true"><span class="base"><span class="mord mathnormal">E</span><span class="mspace"></span><span class="mrel">=</span></span><span class="base"><span class="mord mathnormal">m</span><span class="mord"><span class="mord mathnormal">c</span><span class="msupsub"><span class="vlist-t"><span class="vlist-r"><span class="vlist"><span><span class="pstrut"></span><span class="sizing reset-size6 size3 mtight"><span class="mord mtight">2</span></span></span></span></span></span></span></span></span></span></span>`

const katexStyle =
  '<style>.katex-mathml { border: 0; clip-path: inset(50%); height: 1px; overflow: hidden; padding: 0; position: absolute; width: 1px } .katex-display { display: block }</style>'

const gitHubRow = (number: number, words: string) =>
  `<tr><td id="L${number}" class="blob-num js-line-number" data-line-number="${number}"></td><td id="LC${number}" class="blob-code blob-code-inner js-file-line">${words}</td></tr>`

const gitHubStyle =
  '<style>.blob-code-inner { font-family: ui-monospace, Menlo, monospace; white-space: pre } .blob-num { user-select: none } .blob-num::before { content: attr(data-line-number) }</style>'

const buttons =
  '<div class="sticky"><div class="flex"><button aria-label="Copy">Copy code</button></div></div>'

const numbered = (number: number, words: string) => `<div class="line number${number}">${words}</div>`

export const copiedPages: readonly CopiedPage[] = [
  // Code in tables
  {
    name: 'Hexo: numbers and code in two cells',
    page: '<p>See</p><figure class="highlight js"><table><tbody><tr><td class="gutter"><pre><span class="line">1</span><br><span class="line">2</span><br><span class="line">3</span><br></pre></td><td class="code"><pre><span class="line"><span class="keyword">if</span> (x) {</span><br><span class="line">  y()</span><br><span class="line">}</span><br></pre></td></tr></tbody></table></figure><p>Then</p>',
    kept: `<p>See</p>${code}<p>Then</p>`,
  },
  {
    name: 'Pygments with linenos=table',
    page: '<p>See</p><div class="highlight"><table class="highlighttable"><tr><td class="linenos"><div class="linenodiv"><pre><span class="normal">8</span>\n<span class="normal">9</span>\n<span class="normal">10</span></pre></div></td><td class="code"><div><pre><span></span><code><span class="k">if</span> (x) {\n  y()\n}\n</code></pre></div></td></tr></table></div><p>Then</p>',
    kept: `<p>See</p>${code}<p>Then</p>`,
  },
  {
    name: 'Pygments with linenos=inline',
    page: '<style>.linenos { user-select: none }</style><p>See</p><div class="highlight"><pre><span></span><span class="linenos">1</span>if (x) {\n<span class="linenos">2</span>  y()\n<span class="linenos">3</span>}\n</pre></div><p>Then</p>',
    kept: `<p>See</p>${code}<p>Then</p>`,
  },
  {
    name: 'Jekyll with Rouge: a table within the code block',
    page: '<p>See</p><figure class="highlight"><pre><code class="language-js" data-lang="js"><table class="rouge-table"><tbody><tr><td class="gutter gl"><pre class="lineno">1\n2\n3\n</pre></td><td class="code"><pre><span class="k">if</span> <span class="p">(</span>x<span class="p">)</span> {\n  y()\n}\n</pre></td></tr></tbody></table></code></pre></figure><p>Then</p>',
    kept: `<p>See</p>${javascript}<p>Then</p>`,
  },
  {
    name: 'Hugo with Chroma: numbers without a class of their own cell',
    page: '<p>See</p><div class="highlight"><div class="chroma"><table class="lntable"><tr><td class="lntd"><pre tabindex="0" class="chroma"><code><span class="lnt">1\n</span><span class="lnt">2\n</span><span class="lnt">3\n</span></code></pre></td><td class="lntd"><pre tabindex="0" class="chroma"><code class="language-js" data-lang="js"><span class="line"><span class="cl"><span class="k">if</span> (x) {\n</span></span><span class="line"><span class="cl">  y()\n</span></span><span class="line"><span class="cl">}\n</span></span></code></pre></td></tr></table></div></div><p>Then</p>',
    kept: `<p>See</p>${javascript}<p>Then</p>`,
  },
  {
    name: 'GitHub: a row for each line, kept in shape by style',
    page: `${gitHubStyle}<p>See</p><table class="highlight js-file-line-container"><tbody>${gitHubRow(1, '<span class="pl-k">if</span> (x) {')}${gitHubRow(2, '  y()')}${gitHubRow(3, '\n')}${gitHubRow(4, '}')}</tbody></table><p>Then</p>`,
    kept: '<p>See</p><pre>if (x) {\n  y()\n\n}</pre><p>Then</p>',
  },
  {
    name: 'a viewer of sources whose rows only have a style',
    page: `<style>.text { white-space: pre; font-family: monospace }</style><p>See</p><table><tbody><tr><td>98</td><td class="text">if (x) {</td></tr><tr><td>99</td><td class="text">  y()</td></tr><tr><td>100</td><td class="text">}</td></tr></tbody></table><p>Then</p>`,
    kept: `<p>See</p>${code}<p>Then</p>`,
    only: 'chromium',
  },
  {
    name: 'GitHub: a change with two columns of numbers',
    page: `${gitHubStyle}<p>See</p><table class="diff-table"><tbody><tr><td class="blob-num" data-line-number="7"></td><td class="blob-num" data-line-number="7"></td><td class="blob-code blob-code-context"><span class="blob-code-inner" data-code-marker=" ">if (x) {</span></td></tr><tr><td class="blob-num blob-num-addition empty-cell"></td><td class="blob-num blob-num-addition" data-line-number="8"></td><td class="blob-code blob-code-addition"><span class="blob-code-inner" data-code-marker="+">  y()</span></td></tr><tr><td class="blob-num" data-line-number="8"></td><td class="blob-num" data-line-number="9"></td><td class="blob-code blob-code-context"><span class="blob-code-inner" data-code-marker=" ">}</span></td></tr></tbody></table><p>Then</p>`,
    kept: `<p>See</p>${code}<p>Then</p>`,
  },
  {
    name: 'highlightjs-line-numbers: a table in the code block, a row for each line',
    page: '<p>See</p><pre><code class="language-js hljs"><table class="hljs-ln"><tbody><tr><td class="hljs-ln-line hljs-ln-numbers" data-line-number="1"><div class="hljs-ln-n" data-line-number="1"></div></td><td class="hljs-ln-line hljs-ln-code" data-line-number="1"><span class="hljs-keyword">if</span> (x) {</td></tr><tr><td class="hljs-ln-line hljs-ln-numbers" data-line-number="2"><div class="hljs-ln-n" data-line-number="2"></div></td><td class="hljs-ln-line hljs-ln-code" data-line-number="2">  y()</td></tr><tr><td class="hljs-ln-line hljs-ln-numbers" data-line-number="3"><div class="hljs-ln-n" data-line-number="3"></div></td><td class="hljs-ln-line hljs-ln-code" data-line-number="3">}</td></tr></tbody></table></code></pre><p>Then</p>',
    kept: `<p>See</p>${javascript}<p>Then</p>`,
  },
  {
    name: 'SyntaxHighlighter: each line a box, spaces hard',
    page: `<p>See</p><div class="syntaxhighlighter js"><table><tbody><tr><td class="gutter">${[1, 2, 3].map((number) => numbered(number, String(number))).join('')}</td><td class="code"><div class="container">${numbered(1, '<code class="js keyword">if</code> <code class="js plain">(x) {</code>')}${numbered(2, '<code class="js spaces">&nbsp;&nbsp;</code><code class="js plain">y()</code>')}${numbered(3, '<code class="js plain">}</code>')}</div></td></tr></tbody></table></div><p>Then</p>`,
    kept: `<p>See</p>${code}<p>Then</p>`,
  },
  {
    name: 'a manual: a table with a column of words and one of commands',
    page: '<table><thead><tr><th>Task</th><th>Command</th></tr></thead><tbody><tr><td>Build</td><td><pre>cd a\nmake</pre></td></tr><tr><td>Test</td><td><pre>make check</pre></td></tr></tbody></table><p>Then</p>',
    kept: '<p><b>Task</b> | <b>Command</b></p><p>Build</p><pre>cd a\nmake</pre><p>Test</p><pre>make check</pre><p>Then</p>',
    unkept: [columns],
  },
  {
    name: 'a database console: cells of fixed-width type are no code',
    page: '<style>td { white-space: pre; font-family: monospace }</style><p>See</p><table><tbody><tr><td>oslo</td><td>4.2</td></tr><tr><td>bergen</td><td>9.0</td></tr></tbody></table><p>Then</p>',
    kept: '<p>See</p><p>oslo | 4.2</p><p>bergen | 9.0</p><p>Then</p>',
    unkept: [columns],
  },
  {
    name: 'Prism with line numbers: empty boxes beside the code',
    page: '<p>See</p><pre class="line-numbers language-js" tabindex="0"><code class="language-js line-numbers"><span class="token keyword">if</span> (x) {\n  y()\n}<span aria-hidden="true" class="line-numbers-rows"><span></span><span></span><span></span></span></code></pre><p>Then</p>',
    kept: `<p>See</p>${javascript}<p>Then</p>`,
  },

  // Code in chats
  {
    name: 'ChatGPT: the language and a button within the code block',
    page: `<p>Like this:</p><pre class="overflow-visible!"><div class="contain-inline-size"><div class="flex items-center">js</div>${buttons}<div class="overflow-y-auto p-4" dir="ltr"><code class="whitespace-pre! language-js"><span><span class="hljs-keyword">if</span></span><span> (x) {\n  y()\n}\n</span></code></div></div></pre><p>Then</p>`,
    kept: `<p>Like this:</p>${javascript}<p>Then</p>`,
  },
  {
    name: 'a chat whose heading is not the name of the class',
    page: '<p>Like this:</p><pre><div class="bar"><span>JavaScript</span><span role="button">Copy</span></div><div><code class="hljs language-js">if (x) {\n  y()\n}\n</code></div></pre><p>Then</p>',
    kept: `<p>Like this:</p>${javascript}<p>Then</p>`,
  },
  {
    name: 'Claude: the language before the code block',
    page: '<p>Like this:</p><div class="relative group/copy"><div class="sticky"><button aria-label="Copy to clipboard">Copy</button></div><div class="text-text-500 font-small">js</div><div class="overflow-x-auto"><pre class="code-block__code"><code class="language-js"><span class="token">if</span> (x) {\n  y()\n}</code></pre></div></div><p>Then</p>',
    kept: `<p>Like this:</p>${javascript}<p>Then</p>`,
  },
  {
    name: 'a page whose paragraph before the code says more than the language',
    page: '<p>In js</p><pre><code class="language-js">if (x) {\n  y()\n}</code></pre><p>Then</p>',
    kept: `<p>In js</p>${javascript}<p>Then</p>`,
  },
  {
    name: 'a code block of boxes, each with its own code',
    page: '<p>See</p><pre><div class="line"><code>if (x) {</code></div><div class="line"><code>  y()</code></div><div class="line"><code>}</code></div></pre><p>Then</p>',
    kept: `<p>See</p>${code}<p>Then</p>`,
  },

  // Formulas, and what is hidden
  {
    name: 'KaTeX in a line',
    page: `${katexStyle}<p>The energy ${katex(false)} of a mass.</p>`,
    kept: '<p>The energy E = mc^2 of a mass.</p>',
    keptCopied: '<p>The energy E=mc^2 of a mass.</p>',
  },
  {
    name: 'KaTeX in a line of its own',
    page: `${katexStyle}<p>The energy</p><p><span class="katex-display">${katex(true)}</span></p><p>of a mass.</p>`,
    kept: '<p>The energy</p><p>E = mc^2</p><p>of a mass.</p>',
    keptCopied: '<p>The energy</p><p>E=mc^2</p><p>of a mass.</p>',
  },
  {
    name: 'KaTeX without MathML',
    page: '<p>The energy <span class="katex"><span class="katex-html" aria-hidden="true"><span class="base"><span class="mord">E</span><span class="mrel">=</span></span><span class="base"><span class="mord">m</span></span></span></span> of a mass.</p>',
    kept: '<p>The energy E=m of a mass.</p>',
  },
  {
    name: 'MathJax 3: glyphs as styles, MathML for assistive technology',
    page: '<style>mjx-assistive-mml { position: absolute; clip: rect(1px, 1px, 1px, 1px); width: 1px; height: 1px; overflow: hidden } mjx-c::before { content: "x" }</style><p>The energy <mjx-container class="MathJax" jax="CHTML"><mjx-math class="MJX-TEX" aria-hidden="true"><mjx-mi class="mjx-i"><mjx-c class="mjx-c1D438 TEX-I"></mjx-c></mjx-mi></mjx-math><mjx-assistive-mml unselectable="on" display="inline"><math xmlns="http://www.w3.org/1998/Math/MathML"><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup></math></mjx-assistive-mml></mjx-container> of a mass.</p>',
    kept: '<p>The energy E=mc^2 of a mass.</p>',
  },
  {
    name: 'MathML without a source: a fraction and a root',
    page: '<p>Half is <math xmlns="http://www.w3.org/1998/Math/MathML"><mfrac><mn>1</mn><mn>2</mn></mfrac></math>, and the length <math xmlns="http://www.w3.org/1998/Math/MathML"><msqrt><msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><msup><mi>y</mi><mn>2</mn></msup></msqrt></math>.</p>',
    kept: '<p>Half is 1/2, and the length √(x^2+y^2).</p>',
  },
  {
    name: 'arXiv: MathML with its source as an attribute',
    page: '<p>The energy <math id="S1.m1" class="ltx_Math" alttext="E=mc^{2}" display="inline" xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mrow><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup></mrow></semantics></math> of a mass.</p>',
    kept: '<p>The energy E=mc^{2} of a mass.</p>',
  },
  {
    name: 'Wikipedia: an image of a formula that is hidden from assistive technology',
    page: `<p>The energy <span class="mwe-math-element"><span class="mwe-math-mathml-inline mwe-math-mathml-a11y" style="display: none;"><math xmlns="http://www.w3.org/1998/Math/MathML" alttext="{\\displaystyle E=mc^{2}}"><semantics><mrow><mi>E</mi></mrow><annotation encoding="application/x-tex">{\\displaystyle E=mc^{2}}</annotation></semantics></math></span><img src="${smallImage}" class="mwe-math-fallback-image-inline mw-invert" aria-hidden="true" style="width:8.9ex; height:2.6ex;" alt="{\\displaystyle E=mc^{2}}"></span> of a mass.</p>`,
    kept: '<p>The energy E=mc^{2} of a mass.</p>',
  },
  {
    name: 'a page with hidden parts: an icon, a menu, a counter, a template',
    page: '<style>.off { display: none } .gone { visibility: hidden }</style><h2>Gusts <a aria-hidden="true" class="anchor" href="#gusts">#</a></h2><p>nine<span hidden> or ten</span><span class="off" style="display: none"> or eleven</span><span class="gone" style="visibility: hidden"> or twelve</span><i class="icon" aria-hidden="true">wind</i></p><div hidden><p>menu</p></div>',
    kept: '<h2>Gusts</h2><p>nine</p>',
  },

  // Footnotes, comments, and links within the source
  {
    name: 'Word: a footnote and the comment of a reviewer',
    page: '<p class=MsoNormal>A fact<a style=\'mso-footnote-id:ftn1\' href="#_ftn1" name="_ftnref1" title=""><span class=MsoFootnoteReference><span style=\'mso-special-character:footnote\'>[1]</span></span></a> here<span class=MsoCommentReference><span style=\'font-size:8.0pt\'><a class=msocomanchor id="_anchor_1" href="#_msocom_1" name="_msoanchor_1">[AB1]</a></span></span>.</p><div style=\'mso-element:footnote-list\'><div style=\'mso-element:footnote\' id=ftn1><p class=MsoFootnoteText><a style=\'mso-footnote-id:ftn1\' href="#_ftnref1" name="_ftn1" title=""><span class=MsoFootnoteReference>[1]</span></a> The note itself.</p></div></div><div style=\'mso-element:comment-list\'><div style=\'mso-element:comment\'><div id="_com_1" class=msocomtxt><p class=MsoCommentText><span class=MsoCommentReference>[AB1]</span>Please check this figure.</p></div></div></div>',
    kept: '<p>A fact[^1] here.</p><p>[^1]: The note itself.</p>',
    unkept: ['comments'],
  },
  {
    name: 'Word: a table of contents, endnotes',
    page: '<p class=MsoToc1><span class=MsoHyperlink><a href="#_Toc123">Wind</a></span></p><h1><a name="_Toc123">Wind</a></h1><p class=MsoNormal>It blew<a href="#_edn1" name="_ednref1"><span class=MsoEndnoteReference>[i]</span></a>.</p><div><div id=edn1><p class=MsoEndnoteText><a href="#_ednref1" name="_edn1"><span class=MsoEndnoteReference>[i]</span></a> For days.</p></div></div>',
    kept: '<p>Wind</p><h1>Wind</h1><p>It blew[^edn1].</p><p>[^edn1]: For days.</p>',
    unkept: [innerLinks],
    keptCopied:
      '<p><a href="PAGE#_Toc123">Wind</a></p><h1>Wind</h1><p>It blew[^edn1].</p><p>[^edn1]: For days.</p>',
    unkeptCopied: [],
  },
  {
    name: 'Markdown on GitHub: links to its headings, of words that could be a footnote’s number',
    page: '<ul><li><a href="#install">Install</a></li><li><a href="#fn1">and so on</a></li></ul><p><a href="#">x</a></p>',
    kept: '<ul><li>Install</li><li>and so on</li></ul><p>x</p>',
    unkept: [innerLinks],
    keptCopied:
      '<ul><li><a href="PAGE#install">Install</a></li><li><a href="PAGE#fn1">and so on</a></li></ul><p><a href="PAGE#">x</a></p>',
    unkeptCopied: [],
  },
  {
    name: 'LibreOffice: a footnote',
    page: '<p>A fact<a class="sdfootnoteanc" name="sdfootnote1anc" href="#sdfootnote1sym"><sup>1</sup></a> here.</p><div id="sdfootnote1"><p class="sdfootnote"><a class="sdfootnotesym" name="sdfootnote1sym" href="#sdfootnote1anc">1</a>The note itself.</p></div>',
    kept: '<p>A fact[^1] here.</p><p>[^1]: The note itself.</p>',
  },
  {
    name: 'Google Docs, exported: footnotes and comments',
    page: '<p><span>A fact</span><sup><a href="#ftnt1" id="ftnt_ref1">[1]</a></sup><span> here.</span><sup><a href="#cmnt1" id="cmnt_ref1">[a]</a></sup></p><div><p><a href="#ftnt_ref1" id="ftnt1">[1]</a><span>&nbsp;The note itself.</span></p></div><div style="border:1px solid black;margin:5px"><p><a href="#cmnt_ref1" id="cmnt1">[a]</a><span>Please check this figure.</span></p></div>',
    kept: '<p>A fact[^1] here.</p><p>[^1]: The note itself.</p>',
    unkept: ['comments'],
  },
  {
    name: 'GitHub: footnotes of Markdown, called twice',
    page: '<p>A fact<sup><a href="#user-content-fn-note-0f1e2d3c4b5a69788796a5b4c3d2e1f0" id="user-content-fnref-note-0f1e2d3c4b5a69788796a5b4c3d2e1f0" data-footnote-ref aria-describedby="footnote-label">1</a></sup> here<sup><a href="#user-content-fn-note-0f1e2d3c4b5a69788796a5b4c3d2e1f0" id="user-content-fnref-note-2-0f1e2d3c4b5a69788796a5b4c3d2e1f0" data-footnote-ref aria-describedby="footnote-label">1</a></sup>.</p><section data-footnotes class="footnotes"><h2 id="footnote-label" class="sr-only">Footnotes</h2><ol><li id="user-content-fn-note-0f1e2d3c4b5a69788796a5b4c3d2e1f0"><p>The <b>note</b> itself. <a href="#user-content-fnref-note-0f1e2d3c4b5a69788796a5b4c3d2e1f0" data-footnote-backref aria-label="Back to reference 1" class="data-footnote-backref">↩</a> <a href="#user-content-fnref-note-2-0f1e2d3c4b5a69788796a5b4c3d2e1f0" data-footnote-backref class="data-footnote-backref">↩<sup>2</sup></a></p></li></ol></section>',
    kept: '<p>A fact[^note] here[^note].</p><p>[^note]: The <b>note</b> itself.</p>',
  },
  {
    name: 'Pandoc: a footnote',
    page: '<p>A fact<a href="#fn1" class="footnote-ref" id="fnref1" role="doc-noteref"><sup>1</sup></a> here.</p><section id="footnotes" class="footnotes" role="doc-endnotes"><ol><li id="fn1"><p>The note itself.<a href="#fnref1" class="footnote-back" role="doc-backlink">↩︎</a></p></li></ol></section>',
    kept: '<p>A fact[^1] here.</p><p>[^1]: The note itself.</p>',
  },
  {
    name: 'Hugo: a footnote of two paragraphs, then a list',
    page: '<p>A fact<sup id="fnref:1"><a href="#fn:1" class="footnote-ref" role="doc-noteref">1</a></sup> here.</p><div class="footnotes" role="doc-endnotes"><ol><li id="fn:1"><p>The note itself.</p><p>More.&#160;<a href="#fnref:1" class="footnote-backref" role="doc-backlink">&#x21a9;&#xfe0e;</a></p></li></ol></div><ul><li>Then</li></ul>',
    kept: '<p>A fact[^1] here.</p><p>[^1]: The note itself.</p><p>More.</p><ul><li>Then</li></ul>',
  },
  {
    name: 'a part of a page: a footnote that was not copied',
    page: '<p>A fact<sup><a href="#fn:1" class="footnote-ref">1</a></sup> here<a href="#_ftn2">[2]</a>.</p>',
    kept: '<p>A fact[1] here[2].</p>',
  },
]
