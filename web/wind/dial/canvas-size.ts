// Keeps a canvas as sharp as its screen, whatever its size, the zoom and the screen's pixels.

/** Calls back with the side in CSS pixels and the pixels to each of them, at first and at each change. */
export function watchCanvasSize(
  canvas: HTMLCanvasElement,
  onSize: (side: number, pixelRatio: number) => void,
): () => void {
  const observer = new ResizeObserver((entries) => {
    const entry = entries.at(-1)
    if (!entry) return
    const side = entry.contentRect.width
    const counted = entry.devicePixelContentBoxSize?.[0]?.inlineSize
    if (side > 0) onSize(side, pixelsFor(side, counted, devicePixelRatio) / side)
  })
  observe(observer, canvas)
  return () => observer.disconnect()
}

/**
 * Pixels for a side in CSS pixels. What the browser has counted is exact, where it counts and where it counts the screen
 * that it shows: with an emulated one Chromium counts its own.
 */
export function pixelsFor(side: number, counted: number | undefined, pixelRatio: number): number {
  const rounded = Math.round(side * pixelRatio)
  return counted !== undefined && Math.abs(counted - rounded) <= 1 ? counted : rounded
}

/** Device pixels say exactly how many there are, and change with the zoom; Safari does not count them. */
function observe(observer: ResizeObserver, canvas: HTMLCanvasElement): void {
  try {
    observer.observe(canvas, { box: 'device-pixel-content-box' })
  } catch {
    observer.observe(canvas)
  }
}

/** Empties the canvas; what is drawn from now on is measured in CSS pixels. */
export function resizeCanvas(
  canvas: HTMLCanvasElement,
  context: CanvasRenderingContext2D,
  side: number,
  pixelRatio: number,
): void {
  canvas.width = Math.round(side * pixelRatio)
  canvas.height = canvas.width
  context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0)
}
