/**
 * The only place that distinguishes an unavailable database from a refused statement, by SQLSTATE and Node socket
 * codes; for Prisma errors, by the driver's error.
 */

const SOCKET_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EPROTO',
])
/** Node's and OpenSSL's codes for a handshake that fails, or a certificate that is not accepted. */
const TLS_CODE = /^(?:CERT_|DEPTH_ZERO_|ERR_SSL_|ERR_TLS_|SELF_SIGNED_|UNABLE_TO_)/
/**
 * 57P01–57P03: shut down by an operator, crashed, starting up. 25006: read-only. 53xxx: out of disk, memory or
 * connections.
 */
const DOWN_STATES = new Set(['57P01', '57P02', '57P03', '25006', '53000', '53100', '53200', '53300', '58000', '58030'])
/** A deadlock or a serialization failure: the same statement may succeed on an immediate retry. */
const TRANSIENT_STATES = new Set(['40P01', '40001', '55P03', '57014'])
/** Prisma's names for socket errors; it does not pass on their codes. */
const PRISMA_SOCKET_KINDS = new Set(['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout', 'TlsConnectionError'])

/** Whether the database cannot be reached, also for want of TLS, or cannot write; the outcome of the statement is unknown. */
export function isConnectionFailure(error: unknown): boolean {
  const { code, syscall, message } = saying(error)
  // Of a socket that nobody listens on; a file that does not exist has the same code.
  if (code === 'ENOENT') return syscall === 'connect'
  if (code !== undefined)
    return SOCKET_CODES.has(code) || TLS_CODE.test(code) || DOWN_STATES.has(code) || code.startsWith('08')
  return /connection terminated|connection ended|timeout exceeded when trying to connect|client has encountered a connection error|not queryable|query read timeout|does not support SSL|establishing an SSL connection/i.test(
    message ?? '',
  )
}

/** Whether the same statement may succeed on an immediate retry. */
export function isTransient(error: unknown): boolean {
  return TRANSIENT_STATES.has(saying(error).code ?? '')
}

/** Whether the database refuses a value of the statement (class 22): a retry is refused too. */
export function isDataError(error: unknown): boolean {
  return /^22...$/.test(saying(error).code ?? '')
}

/** Whether it refuses the content of a statement: a value, a constraint (class 23), or a limit of its programs (54). */
export function isRefusedContent(error: unknown): boolean {
  return /^(?:22|23|54)...$/.test(saying(error).code ?? '')
}

/** Whether the database user lacks the privilege (42501). */
export function isForbidden(error: unknown): boolean {
  return saying(error).code === '42501'
}

type Saying = {
  readonly code?: string | undefined
  readonly syscall?: string | undefined
  readonly message?: string | undefined
}
type PrismaError = {
  readonly meta?: {
    readonly driverAdapterError?: { readonly cause?: { readonly kind: string; readonly originalCode?: string } }
  }
}

/** The driver's code and message. */
function saying(error: unknown): Saying {
  const wrapped = (error as PrismaError | undefined)?.meta?.driverAdapterError?.cause
  if (wrapped === undefined) return (error ?? {}) as Saying
  return { code: PRISMA_SOCKET_KINDS.has(wrapped.kind) ? 'ECONNREFUSED' : wrapped.originalCode }
}
