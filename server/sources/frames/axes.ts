// Turns wind along the sensor's two axes into where it comes from and how strong it is.

import type { Axes } from '../../wire/reading.ts'

/**
 * Where the wind comes from, in degrees from 0 to below 360, when it blows with `u` from south to north and with `v` from
 * east to west; in calm air 0 or 180, which mean nothing.
 *
 * The manual names the axes "U (= South - North)" and "V (= East - West)", positive along the arrows of its figure 5
 * (1405-PS-0019, issue 28, section 9.2), and says of tunnel frames that +U "is a wind from the South" (section 9.6). So
 * the wind's parts to the north and to the east are u and -v, and it comes from the other side: atan2(v, -u). Wind from
 * the north has u < 0, from the east v > 0. This is the meteorologists' u and v neither in order nor in sign.
 */
export function directionOf(u: number, v: number): number {
  const degrees = (Math.atan2(v, -u) * 180) / Math.PI
  return degrees < 0 ? (degrees + 360) % 360 : degrees + 0
}

/** The inverse: parts along the axes of a wind from `directionDegrees`, in the unit of `speed`. */
export function axesOf(directionDegrees: number, speed: number): Axes & { readonly v: number } {
  const radians = (directionDegrees * Math.PI) / 180
  return { u: -speed * Math.cos(radians), v: speed * Math.sin(radians) }
}
