/** How long a path may be, so that the router, the error message and the reference name one figure. */

/** Characters of one path parameter after percent-decoding. Every id is shorter. */
export const MAX_PARAM_LENGTH = 256
