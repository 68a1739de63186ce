// Lexical with a shared document: formatted text, carets and names.

import { CrosswindProvider } from '@crosswind/client/yjs'
import { LexicalCollaboration } from '@lexical/react/LexicalCollaborationContext'
import { CollaborationPlugin } from '@lexical/react/LexicalCollaborationPlugin'
import { LexicalComposer } from '@lexical/react/LexicalComposer'
import { ContentEditable } from '@lexical/react/LexicalContentEditable'
import { LexicalErrorBoundary } from '@lexical/react/LexicalErrorBoundary'
import { RichTextPlugin } from '@lexical/react/LexicalRichTextPlugin'
import { createRoot } from 'react-dom/client'
import * as Y from 'yjs'

const name = `Guest ${Math.floor(Math.random() * 100)}`

function provide(channel, docs) {
  const doc = new Y.Doc()
  docs.set(channel, doc)
  const provider = new CrosswindProvider(new URL('/realtime', location), channel, doc, { connect: false })
  const show = () => {
    document.querySelector('#state').textContent =
      provider.refused?.message ?? (provider.saved ? 'Saved' : `${provider.unsaved} changes not saved`)
  }
  for (const event of ['sync', 'saved', 'refused']) provider.on(event, show)
  doc.on('update', show)
  return provider
}

createRoot(document.querySelector('#editor')).render(
  <LexicalComposer initialConfig={{ namespace: 'shared', editorState: null, onError: console.error }}>
    <LexicalCollaboration>
      <CollaborationPlugin id="doc.1" providerFactory={provide} username={name} shouldBootstrap />
      <RichTextPlugin contentEditable={<ContentEditable />} ErrorBoundary={LexicalErrorBoundary} />
    </LexicalCollaboration>
  </LexicalComposer>,
)
