// Turns of a session: their order.

/**
 * Distributes machine drift over all subjects: each round starts further on, every other one is
 * reversed. Over as many rounds as subjects, each is early and late equally often, and none always
 * follows the same one.
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
