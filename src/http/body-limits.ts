/** How large a request body may be, route by route: in bytes, and in values, which cost far more than their bytes. */

/** What a route takes at most. */
export type BodyLimits = {
  readonly bytes: number
  /** Objects, lists, texts, numbers, booleans and nulls, at every depth. */
  readonly values: number
}

/** Of a route that states nothing: about ten times the largest body that such a route has a use for. */
export const DEFAULT_BODY: BodyLimits = { bytes: 64 * 1_024, values: 2_048 }

/** Of a route that takes metadata with an image inside: as many bytes as `BODY_LIMIT_BYTES` allows. */
export const METADATA_BODY: BodyLimits = { bytes: Number.POSITIVE_INFINITY, values: DEFAULT_BODY.values }

/** Of a mint: the values of 100 items with 100 attributes each (309 values an item), and some to spare. */
export const MINT_BODY: BodyLimits = { bytes: Number.POSITIVE_INFINITY, values: 32 * 1_024 }

/**
 * Of a route that signs what it is sent: 32 KiB of text, of which every byte may be written as `\u00XX`, or 64 KiB of typed
 * data, indented. The values are those of 64 KiB of the shortest declarations (3 values in 24 bytes), and some to spare.
 */
export const SIGNED_BODY: BodyLimits = { bytes: 256 * 1_024, values: 10 * 1_024 }
