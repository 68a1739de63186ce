// The figures beside the dial: means, gust and spread.

import type { FigureWords } from './figure-words.ts'

/** Each keeps its place and size whatever its number is. */
export function Figures({ figures }: { figures: readonly FigureWords[] }) {
  return (
    <dl className="figures">
      {figures.map((figure) => (
        <div key={figure.name} className="figure">
          <dt>{figure.label}</dt>
          <dd>
            <Amount figure={figure} />
            <span className="figure-beside" aria-hidden="true">
              {figure.beside}
            </span>
            <span className="visually-hidden">{figure.spokenBeside}</span>
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Amount({ figure: { number, unit, spokenUnit } }: { figure: FigureWords }) {
  if (number === null) return <span className="figure-number">–</span>
  return (
    <span className="figure-number">
      {number}
      <span className="figure-unit" aria-hidden="true">
        {' '}
        {unit}
      </span>
      <span className="visually-hidden"> {spokenUnit} </span>
    </span>
  )
}
