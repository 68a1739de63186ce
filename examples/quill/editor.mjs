// Quill with a shared document: formatted text, carets and names.

import { CrosswindProvider } from '@crosswind/client/yjs'
import Quill from 'quill'
import css from 'quill/dist/quill.snow.css'
import Cursors from 'quill-cursors'
import { QuillBinding } from 'y-quill'
import * as Y from 'yjs'

const doc = new Y.Doc()
const provider = new CrosswindProvider(new URL('/realtime', location), 'doc.1', doc)
const name = `Guest ${doc.clientID % 100}`
provider.awareness.setLocalStateField('user', { name, color: `hsl(${doc.clientID % 360} 70% 40%)` })
document.head.append(Object.assign(document.createElement('style'), { textContent: css }))
Quill.register('modules/cursors', Cursors)
const modules = { cursors: true, history: { userOnly: true } }
const quill = new Quill('#editor', { theme: 'snow', modules })
new QuillBinding(doc.getText('quill'), quill, provider.awareness)

const show = () => {
  document.querySelector('#state').textContent =
    provider.refused?.message ?? (provider.saved ? 'Saved' : `${provider.unsaved} changes not saved`)
}
for (const event of ['sync', 'saved', 'refused']) provider.on(event, show)
doc.on('update', show)
