// tldraw with a shared document: one drawing, each of whose records is an entry of a map.

import { CrosswindProvider } from '@crosswind/client/yjs'
import { getAssetUrls } from '@tldraw/assets/selfHosted'
import { createRoot } from 'react-dom/client'
import { Tldraw } from 'tldraw'
import css from 'tldraw/tldraw.css'
import * as Y from 'yjs'

const doc = new Y.Doc()
const provider = new CrosswindProvider(new URL('/realtime', location), 'doc.1', doc)
const records = doc.getMap('tldraw')

function share({ store }) {
  const take = (ids) =>
    store.mergeRemoteChanges(() => {
      store.put(ids.filter((id) => records.has(id)).map((id) => records.get(id)))
      store.remove(ids.filter((id) => !records.has(id)))
    })
  const give = ({ changes: { added, updated, removed } }) =>
    doc.transact(() => {
      const changed = Object.values(updated).map(([, record]) => record)
      for (const record of [...Object.values(added), ...changed]) records.set(record.id, record)
      for (const id of Object.keys(removed)) records.delete(id)
    }, store)
  take([...records.keys()])
  records.observe(({ keysChanged }, { origin }) => origin !== store && take([...keysChanged]))
  store.listen(give, { source: 'user', scope: 'document' })
}

document.head.append(Object.assign(document.createElement('style'), { textContent: css }))
// tldraw would ask its own host for fonts and icons.
const assetUrls = getAssetUrls({ baseUrl: '/assets' })
provider.once('sync', () =>
  createRoot(document.querySelector('#editor')).render(<Tldraw assetUrls={assetUrls} onMount={share} />),
)

const show = () => {
  document.querySelector('#state').textContent =
    provider.refused?.message ?? (provider.saved ? 'Saved' : `${provider.unsaved} changes not saved`)
}
for (const event of ['sync', 'saved', 'refused']) provider.on(event, show)
doc.on('update', show)
