/** The maximum length of a path parameter, shared by the router, the error message and the reference. */

/** Characters of one path parameter after percent-decoding. Every id is shorter. */
export const MAX_PARAM_LENGTH = 256
