/**
 * Maximum size of a request body for each route: in bytes, and in JSON values, which cost far more than their bytes.
 */

/** The limits of a route. */
export type BodyLimits = {
  readonly bytes: number
  /** Objects, arrays, strings, numbers, booleans and nulls, at every depth. */
  readonly values: number
}

/** Default: about ten times the largest useful body of such a route. */
export const DEFAULT_BODY: BodyLimits = { bytes: 64 * 1_024, values: 2_048 }

/** For routes that accept metadata with an embedded image: limited only by `BODY_LIMIT_BYTES`. */
export const METADATA_BODY: BodyLimits = { bytes: Number.POSITIVE_INFINITY, values: DEFAULT_BODY.values }

/** For mints: the values of 100 items with 100 attributes each (309 values per item), plus a margin. */
export const MINT_BODY: BodyLimits = { bytes: Number.POSITIVE_INFINITY, values: 32 * 1_024 }

/**
 * For routes that sign the body: 32 KiB of text in which every byte may be written as `\u00XX`, or 64 KiB of typed
 * data, indented. The values are those of 64 KiB of the shortest declarations (3 values in 24 bytes), plus a margin.
 */
export const SIGNED_BODY: BodyLimits = { bytes: 256 * 1_024, values: 10 * 1_024 }

/** For contract calls: 128 KiB of call data in hexadecimal, or 64 KiB of an ABI, indented, with as many arguments as fit. */
export const CALL_BODY: BodyLimits = { bytes: 512 * 1_024, values: 24 * 1_024 }

/** For batches of transfers: 100 items with a memo and a reference in which every character may be escaped. */
export const TRANSFERS_BODY: BodyLimits = { bytes: 512 * 1_024, values: DEFAULT_BODY.values }

/** For batches of wallets: 1,000 items with a label and an external_id, in which few characters are escaped. */
export const WALLETS_BODY: BodyLimits = { bytes: Number.POSITIVE_INFINITY, values: 4 * 1_024 }
