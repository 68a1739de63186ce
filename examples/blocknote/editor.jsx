// BlockNote with a shared document: blocks, carets and names.

import { BlockNoteView } from '@blocknote/mantine'
import css from '@blocknote/mantine/style.css'
import { useCreateBlockNote } from '@blocknote/react'
import { CrosswindProvider } from '@crosswind/client/yjs'
import { createRoot } from 'react-dom/client'
import * as Y from 'yjs'

const doc = new Y.Doc()
const provider = new CrosswindProvider(new URL('/realtime', location), 'doc.1', doc)
const user = { name: `Guest ${doc.clientID % 100}`, color: '#2a7f62' }
document.head.append(Object.assign(document.createElement('style'), { textContent: css }))

function Editor() {
  const editor = useCreateBlockNote({
    collaboration: { provider, fragment: doc.getXmlFragment('blocks'), user, showCursorLabels: 'always' },
  })
  return <BlockNoteView editor={editor} />
}
createRoot(document.querySelector('#editor')).render(<Editor />)

const show = () => {
  document.querySelector('#state').textContent =
    provider.refused?.message ?? (provider.saved ? 'Saved' : `${provider.unsaved} changes not saved`)
}
for (const event of ['sync', 'saved', 'refused']) provider.on(event, show)
doc.on('update', show)
