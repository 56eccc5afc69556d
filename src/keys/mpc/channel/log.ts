/** What a channel logs for operators: connects, disconnects, and refused peers with the reason. */
export type ChannelLog = {
  readonly info: (fields: object, message: string) => void
  readonly warn: (fields: object, message: string) => void
  readonly error: (fields: object, message: string) => void
}

/** The code of an error (`ECONNREFUSED`, `ERR_SSL_WRONG_VERSION_NUMBER`), or its message if it has none. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : error.message
}
