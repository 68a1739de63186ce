// In which order subjects take their turns, so that drift of the machine hits all alike.

/**
 * One order for each round: each begins further on, every other one runs backwards. Over as many rounds as there are
 * subjects each has been early and late alike, and none always follows the same one.
 */
export function turnsOf<Subject>(
  subjects: readonly Subject[],
  rounds: number,
): readonly (readonly Subject[])[] {
  return Array.from({ length: rounds }, (_, round) => {
    const start = Math.round((round * subjects.length) / rounds)
    const turned = [...subjects.slice(start), ...subjects.slice(0, start)]
    return round % 2 === 0 ? turned : turned.reverse()
  })
}

/** Splits `total` into `parts` that differ by one at most, larger ones first. */
export function split(total: number, parts: number): readonly number[] {
  return Array.from({ length: parts }, (_, part) => Math.ceil((total - part) / parts))
}
