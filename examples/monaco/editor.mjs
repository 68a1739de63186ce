// Monaco with a shared document: text and selections.

import { CrosswindProvider } from '@crosswind/client/yjs'
import { editor, KeyCode, KeyMod } from 'monaco-editor'
import { MonacoBinding } from 'y-monaco'
import * as Y from 'yjs'

const doc = new Y.Doc()
const provider = new CrosswindProvider(new URL('/realtime', location), 'doc.1', doc)
const text = doc.getText('monaco')
const opened = editor.create(document.querySelector('#editor'), { automaticLayout: true })
const binding = new MonacoBinding(text, opened.getModel(), new Set([opened]), provider.awareness)
// Monaco's own undo would revert what others wrote.
const undo = new Y.UndoManager(text, { trackedOrigins: new Set([binding]) })
opened.addCommand(KeyMod.CtrlCmd | KeyCode.KeyZ, () => undo.undo())
opened.addCommand(KeyMod.CtrlCmd | KeyCode.KeyY, () => undo.redo())

const show = () => {
  document.querySelector('#state').textContent =
    provider.refused?.message ?? (provider.saved ? 'Saved' : `${provider.unsaved} changes not saved`)
}
for (const event of ['sync', 'saved', 'refused']) provider.on(event, show)
doc.on('update', show)
