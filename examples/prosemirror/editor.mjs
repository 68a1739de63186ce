// ProseMirror with a shared document: formatted text, carets and names.

import { CrosswindProvider } from '@crosswind/client/yjs'
import { exampleSetup } from 'prosemirror-example-setup'
import { keymap } from 'prosemirror-keymap'
import menuCss from 'prosemirror-menu/style/menu.css'
import { schema } from 'prosemirror-schema-basic'
import { EditorState } from 'prosemirror-state'
import { EditorView } from 'prosemirror-view'
import css from 'prosemirror-view/style/prosemirror.css'
import { redo, undo, yCursorPlugin, ySyncPlugin, yUndoPlugin } from 'y-prosemirror'
import * as Y from 'yjs'

const doc = new Y.Doc()
const provider = new CrosswindProvider(new URL('/realtime', location), 'doc.1', doc)
const name = `Guest ${doc.clientID % 100}`
provider.awareness.setLocalStateField('user', { name, color: '#2a7f62' })
document.head.append(Object.assign(document.createElement('style'), { textContent: css + menuCss }))
new EditorView(document.querySelector('#editor'), {
  state: EditorState.create({
    schema,
    plugins: [
      ySyncPlugin(doc.getXmlFragment('prosemirror')),
      yCursorPlugin(provider.awareness),
      yUndoPlugin(),
      keymap({ 'Mod-z': undo, 'Mod-y': redo, 'Mod-Shift-z': redo }),
      ...exampleSetup({ schema, history: false }),
    ],
  }),
})

const show = () => {
  document.querySelector('#state').textContent =
    provider.refused?.message ?? (provider.saved ? 'Saved' : `${provider.unsaved} changes not saved`)
}
for (const event of ['sync', 'saved', 'refused']) provider.on(event, show)
doc.on('update', show)
