// What opens over the page: loaded together, when the first is opened.

export { DocumentsDialog } from '../documents/DocumentsDialog.tsx'
export { ShareDialog } from '../documents/ShareDialog.tsx'
export { ConnectionPanel } from './ConnectionPanel.tsx'
export { PeopleList } from './PeopleList.tsx'
