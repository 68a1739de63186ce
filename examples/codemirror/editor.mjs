// CodeMirror with a shared document: text, carets and names.

import { keymap } from '@codemirror/view'
import { CrosswindProvider } from '@crosswind/client/yjs'
import { basicSetup, EditorView } from 'codemirror'
import { yCollab, yUndoManagerKeymap } from 'y-codemirror.next'
import * as Y from 'yjs'

const doc = new Y.Doc()
const provider = new CrosswindProvider(new URL('/realtime', location), 'doc.1', doc)
const text = doc.getText('codemirror')
const name = `Guest ${doc.clientID % 100}`
provider.awareness.setLocalStateField('user', { name, color: `hsl(${doc.clientID % 360} 70% 40%)` })
new EditorView({
  doc: String(text),
  extensions: [
    // Before CodeMirror's own undo, which would revert what others wrote.
    keymap.of(yUndoManagerKeymap),
    basicSetup,
    EditorView.lineWrapping,
    yCollab(text, provider.awareness),
  ],
  parent: document.body,
})

const show = () => {
  document.querySelector('#state').textContent =
    provider.refused?.message ?? (provider.saved ? 'Saved' : `${provider.unsaved} changes not saved`)
}
provider.on('sync', show)
provider.on('saved', show)
provider.on('refused', show)
doc.on('update', show)
