/**
 * What a pool gives for any amount, between the amounts that it was asked for. It plans how to split a swap, and is never
 * a quote: every amount of a route is asked on chain. Floating point, pure.
 */

/** Base units. */
export type Point = { readonly amountIn: bigint; readonly amountOut: bigint }

export type Curve = {
  readonly out: (amountIn: number) => number
  /** Infinity for more than the pool gives. */
  readonly in: (amountOut: number) => number
}

/**
 * Between two points, as a pool of the constant product does: it starts at a slope, and bends so that it meets the next
 * point.
 */
type Piece = {
  readonly x: number
  readonly y: number
  readonly slope: number
  readonly bend: number
}

/** How far beyond its last answer a pool is expected to go on, if it gave all that it was asked for. */
const BEYOND = 1.1

/**
 * @param price of the pool for the first unit, after its fee: base units out for one in
 * @param points in any order
 * @param isWhole whether the pool can exchange all that it was asked for: otherwise it gives nothing beyond the points
 */
export function curveOf(price: number, points: readonly Point[], isWhole: boolean): Curve {
  return fromPieces(piecesOf(price, points), lastOf(points) * (isWhole ? BEYOND : 1))
}

/** Of a V2 pair. @param bend the part of a base unit in that is left after the fee, of the reserve that it goes into */
export function pairCurve(price: number, bend: number): Curve {
  return fromPieces([{ x: 0, y: 0, slope: price, bend }], Number.POSITIVE_INFINITY)
}

function lastOf(points: readonly Point[]): number {
  return Math.max(0, ...points.map(({ amountIn }) => Number(amountIn)))
}

/** @param most that can go in */
function fromPieces(pieces: readonly Piece[], most: number): Curve {
  const out = (amountIn: number) => {
    if (!(amountIn <= most)) return 0
    const { x, y, slope, bend } = pieces.findLast((piece) => piece.x <= amountIn) ?? START
    return y + (slope * (amountIn - x)) / (1 + bend * (amountIn - x))
  }
  const mostOut = most < Number.POSITIVE_INFINITY ? out(most) : most
  return {
    out,
    in(amountOut) {
      if (!(amountOut <= mostOut) || amountOut === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY
      const { x, y, slope, bend } = pieces.findLast((piece) => piece.y <= amountOut) ?? START
      const left = slope - bend * (amountOut - y)
      return left > 0 ? x + (amountOut - y) / left : amountOut > y ? Number.POSITIVE_INFINITY : x
    },
  }
}

const START: Piece = { x: 0, y: 0, slope: 0, bend: 0 }

function piecesOf(price: number, points: readonly Point[]): readonly Piece[] {
  const known = points
    .map(({ amountIn, amountOut }) => ({ x: Number(amountIn), y: Number(amountOut) }))
    .sort((a, b) => a.x - b.x)
  const pieces: Piece[] = []
  let [start, slope] = [{ x: 0, y: 0 }, price]
  for (const [i, end] of known.entries()) {
    const width = end.x - start.x
    const chord = (end.y - start.y) / width
    if (!(width > 0) || !(chord > 0)) continue
    const next = known[i + 1]
    // A pool never gives more for the next unit than for the last one.
    const first = Math.max(slope, chord)
    const bend = (first / chord - 1) / width
    pieces.push({ ...start, slope: first, bend })
    const last = first / (1 + bend * width) ** 2
    slope = next === undefined ? last : Math.max(last, (next.y - end.y) / (next.x - end.x))
    start = end
  }
  const [before] = pieces.slice(-1)
  if (before === undefined) return []
  const bend = before.bend / (1 + before.bend * (start.x - before.x))
  pieces.push({ ...start, slope, bend })
  return pieces
}
