// How report.html looks: one column, few colours, light or dark as the reader has it, and black on white on paper.

const dark = `
  --paper: #16181b; --ink: #e4e3df; --soft: #a3a5a8; --line: #34373b; --fill: #1e2124;
  --accent: #7fb2e5; --peer: #b9a27a; --shade: #2a2e33;`

export const style = `
:root {
  --paper: #fdfdfb; --ink: #1d1f21; --soft: #5d6165; --line: #d9d9d3; --fill: #f4f4f0;
  --accent: #1f66a6; --peer: #85693a; --shade: #e6e7e3;
  color-scheme: light dark;
}
@media screen and (prefers-color-scheme: dark) { :root {${dark}
} }
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
  -webkit-text-size-adjust: 100%; text-size-adjust: 100%;
}
main { max-width: 66rem; margin: 0 auto; padding: 3.5rem 1.25rem 4rem; }
h1 { margin: 0; font-size: 0.95rem; font-weight: 600; color: var(--soft); }
h2 { margin: 0 0 0.75rem; font-size: 1.15rem; font-weight: 650; line-height: 1.3; }
.finding { margin: 0.75rem 0 0.9rem; max-width: 34em; font-size: clamp(1.25rem, 1rem + 1.6vw, 1.75rem); line-height: 1.32; letter-spacing: -0.01em; text-wrap: pretty; }
.subtitle { margin: 0; color: var(--soft); font-size: 0.9rem; }
section { margin-top: 3.25rem; }
p { max-width: 42em; margin: 0.75rem 0 0; text-wrap: pretty; overflow-wrap: anywhere; }
section > p { color: var(--soft); font-size: 0.925rem; }
figure { margin: 0 0 1.75rem; }
figure svg { display: block; width: 100%; height: auto; max-width: 100%; overflow: visible; }
figcaption { max-width: 46em; margin-top: 0.6rem; color: var(--soft); font-size: 0.875rem; line-height: 1.5; }
.narrow { display: none; }
.scroll {
  overflow-x: auto; margin: 0 0 1.75rem;
  background:
    linear-gradient(to right, var(--paper) 30%, transparent) left / 2rem 100% no-repeat local,
    linear-gradient(to left, var(--paper) 30%, transparent) right / 2rem 100% no-repeat local,
    linear-gradient(to right, var(--line), transparent) left / 0.7rem 100% no-repeat scroll,
    linear-gradient(to left, var(--line), transparent) right / 0.7rem 100% no-repeat scroll;
}
.scroll:focus-visible, pre:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px; }
table { border-collapse: collapse; font-size: 0.875rem; line-height: 1.35; font-variant-numeric: tabular-nums; }
caption { padding-bottom: 0.5rem; text-align: left; font-size: 0.875rem; font-weight: 600; }
caption span { display: inline-block; position: sticky; left: 0; max-width: min(100%, calc(100vw - 2rem)); }
th, td { padding: 0.42rem 0 0.42rem 1.1rem; text-align: left; vertical-align: baseline; white-space: nowrap; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { padding-left: 0; }
thead th { color: var(--soft); font-weight: 500; border-bottom-color: var(--soft); }
tbody th { font-weight: 500; }
.number { text-align: right; }
pre { overflow-x: auto; margin: 0 0 1.5rem; padding: 0.8rem 1rem; background: var(--fill); border: 1px solid var(--line); border-radius: 4px; font: 0.85rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; }
@media screen and (max-width: 44rem) {
  main { padding: 2rem 1rem 3rem; }
  .wide { display: none; }
  .narrow { display: block; max-width: 30rem; }
  tbody th { position: sticky; left: 0; min-width: 6.5rem; max-width: 8rem; white-space: normal; background: var(--paper); }
  section { margin-top: 2.5rem; }
}
@media print {
  :root { font-size: 10pt; --paper: white; }
  main { max-width: none; padding: 0; }
  section { margin-top: 1.6rem; }
  h2 { break-after: avoid; }
  figure, table, tr { break-inside: avoid; }
  .scroll { overflow: visible; background: none; }
  th, td { padding-left: 0.7rem; }
  table { font-size: 8pt; }
  pre { white-space: pre-wrap; }
}
`
