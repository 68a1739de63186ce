export async function pageGoldens() {
  return { goldens: [] }
}
export function comparePictures(_a: Buffer, _b: Buffer): { words: string | null; picture: Buffer | null } {
  return { words: null, picture: null }
}
