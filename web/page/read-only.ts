// The document for a guest who may read and not write.

/**
 * Not editable, and read out as such. medium-editor shows no toolbar where nothing is editable. It can still be
 * reached and scrolled by keyboard.
 */
export function makeReadOnly(content: HTMLElement): void {
  content.contentEditable = 'false'
  content.setAttribute('aria-readonly', 'true')
  content.setAttribute('aria-placeholder', 'Nothing is written here yet.')
  content.tabIndex = 0
}
