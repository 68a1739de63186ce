// The page's state in a word, as a button that opens a panel.

import { usePopup } from './Controls.tsx'
import { keepFocus, type PageProps, useLateCode, useOutbox, useView } from './hooks.ts'
import { LinkShape } from './Icons.tsx'
import { overlaysCode } from './overlays-code.ts'
import { formatState, linkAnnouncement, type StateWords } from './wording.ts'

export function Connection(page: PageProps) {
  const { store } = page
  const link = useView(store, (view) => view.link)
  const outage = useView(store, (view) => view.outage)
  const state = useStateWords(page)
  const { isOpen, setOpen, close, button, popup } = usePopup()
  const overlays = useLateCode(overlaysCode, isOpen, (sentence) => {
    setOpen(false)
    page.actions.notify(sentence)
  })
  return (
    <div className="connection" data-link={outage === null ? link.state : 'waiting'} {...popup}>
      <button
        {...button}
        className="connection-button row"
        data-shape={state.shape}
        aria-haspopup="dialog"
        title={state.word}
        onMouseDown={(event) => {
          button.onMouseDown()
          keepFocus(event)
        }}
      >
        <LinkShape state={state.shape} />
        <span className="connection-word">{state.word}</span>
      </button>
      <output className="visually-hidden">{linkAnnouncement(link, outage)}</output>
      {isOpen && overlays && <overlays.ConnectionPanel {...page} state={state} onClose={close} />}
    </div>
  )
}

function useStateWords({ store, start: { mayWrite } }: PageProps): StateWords {
  const link = useView(store, (view) => view.link)
  const outage = useView(store, (view) => view.outage)
  const isUnshared = useView(store, (view) => view.isUnshared)
  const isDeleted = useView(store, ({ deletion }) => deletion !== null)
  return formatState({ link, outage, outbox: useOutbox(store), isUnshared, isDeleted, mayWrite })
}
