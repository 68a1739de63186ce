// Gathers what a host types into lines.

/** Longer than any command; what is typed beyond it is lost. */
const longestLine = 80

/** Takes characters as they come. CR, LF and CR LF are all one Enter; an Enter with nothing before it is none. */
export function gatherLines(onLine: (line: string) => void): (character: string) => void {
  let typed = ''
  return (character) => {
    const isEnter = character === '\r' || character === '\n'
    if (!isEnter && typed.length < longestLine) typed += character
    if (!isEnter || typed === '') return
    const line = typed
    typed = ''
    onLine(line)
  }
}
