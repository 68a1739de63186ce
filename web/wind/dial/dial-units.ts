// The dial's own units, in which it is 240 wide with its middle at 0, 0; and what it needs of a canvas.

/** What the dial's drawing uses, so that tests can stand in for it. */
export type DialContext = Pick<
  CanvasRenderingContext2D,
  | 'save'
  | 'restore'
  | 'translate'
  | 'scale'
  | 'rotate'
  | 'clearRect'
  | 'beginPath'
  | 'closePath'
  | 'moveTo'
  | 'lineTo'
  | 'quadraticCurveTo'
  | 'arc'
  | 'stroke'
  | 'fill'
  | 'fillText'
  | 'measureText'
  | 'lineWidth'
  | 'lineJoin'
  | 'strokeStyle'
  | 'fillStyle'
  | 'font'
  | 'textAlign'
  | 'textBaseline'
>

/** The side of the dial in its own units. */
export const dialSide = 240

/** The middle line of the ring and its width. */
export const ring = { radius: 96, width: 12 }

/** Clears the square of `size` and draws in the dial's units upon it. */
export function inDialUnits(context: DialContext, size: number, draw: () => void): void {
  context.clearRect(0, 0, size, size)
  context.save()
  context.translate(size / 2, size / 2)
  context.scale(size / dialSide, size / dialSide)
  draw()
  context.restore()
}

/** A direction as an angle of canvas: clockwise from the east, in radians. */
export function canvasAngle(degrees: number): number {
  return ((degrees - 90) * Math.PI) / 180
}
