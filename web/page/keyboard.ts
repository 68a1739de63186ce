// The keyboard of a phone, which covers the foot of the page: browsers do not move what is fixed there.

/**
 * Keeps the custom property `--keyboard` at the height that is covered, such as `300px`; `0px`
 * while the page is zoomed, when a part of it is meant to be out of sight.
 */
export function followKeyboard(
  view: Pick<VisualViewport, 'height' | 'offsetTop' | 'scale' | 'addEventListener'> | null,
  heightOfPage: () => number,
  root: Pick<CSSStyleDeclaration, 'setProperty'>,
): void {
  if (view === null) return
  const follow = () => {
    const isZoomed = view.scale > 1.01
    const covered = isZoomed ? 0 : heightOfPage() - view.height - view.offsetTop
    root.setProperty('--keyboard', `${Math.max(0, Math.round(covered))}px`)
  }
  for (const event of ['resize', 'scroll']) view.addEventListener(event, follow)
  follow()
}
