// The dialogs, which are loaded together, when the first is opened.

export { DocumentsDialog } from './DocumentsDialog.tsx'
export { ShareDialog } from './ShareDialog.tsx'
