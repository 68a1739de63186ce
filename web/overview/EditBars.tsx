// Edits in each second of the last minute, as bars: the newest on the right.

interface EditBarsProps {
  /** 60 counts, the oldest first; none before they are known. */
  readonly counts: readonly number[]
}

const height = 24
/** A lone edit is a small bar, not the highest that there can be. */
const leastTop = 8

/** Its number stands above it, so it is not read out. */
export function EditBars({ counts }: EditBarsProps) {
  return (
    <div className="edit-bars" aria-hidden="true">
      <svg viewBox={`0 0 60 ${height}`} preserveAspectRatio="none" aria-hidden="true">
        <path d={barsOf(counts)} />
      </svg>
      <p>
        <span>a minute ago</span>
        <span>edits each second</span>
        <span>now</span>
      </p>
    </div>
  )
}

function barsOf(counts: readonly number[]): string {
  const top = Math.max(leastTop, ...counts)
  const bars = counts.map((count, second) => {
    const high = ((count / top) * height).toFixed(2)
    return count === 0 ? '' : `M${second + 0.15} ${height}v-${high}h.7v${high}z`
  })
  return bars.join('')
}
