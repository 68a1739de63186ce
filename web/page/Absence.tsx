// The page while the server is away, if this browser has kept no copy of the document.

import { Mark } from './Icons.tsx'

export function Absence() {
  return (
    <main className="absence">
      <Mark />
      <h1>The server does not answer</h1>
      <p>
        This browser has no copy of this document that you may see now. What you wrote here and was not sent
        yet is kept; it will be sent when you open the document again.
      </p>
      <button type="button" className="button" onClick={() => location.reload()}>
        Try again
      </button>
    </main>
  )
}
