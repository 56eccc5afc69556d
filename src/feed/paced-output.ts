/** A byte stream to a client that is written to only while the client reads. */
import { Readable } from 'node:stream'

export type PacedOutput = {
  readonly stream: Readable
  /** Whether the client takes more: false after the end. */
  readonly isReady: () => boolean
  readonly write: (chunk: string | Buffer) => void
  readonly end: (last: string | null) => void
}

export function createPacedOutput({
  onReady,
  onStall,
  stallMs,
  onClose,
}: {
  /** Called when the client takes more. Must not throw */
  readonly onReady: () => void
  /** Called when a chunk was not taken for this time, in ms. */
  readonly onStall: () => void
  readonly stallMs: number
  /** Called once: at the end, or when the client left. */
  readonly onClose: () => void
}): PacedOutput {
  let isReady = false
  let stall: NodeJS.Timeout | undefined
  const stream = new Readable({
    // At most one chunk waits, beside what the connection holds.
    highWaterMark: 1,
    read() {
      clearTimeout(stall)
      isReady = true
      onReady()
    },
    destroy(error, done) {
      clearTimeout(stall)
      isReady = false
      onClose()
      done(error)
    },
  })
  return {
    stream,
    isReady: () => isReady,
    write(chunk) {
      clearTimeout(stall)
      isReady = stream.push(chunk)
      if (!isReady) stall = setTimeout(onStall, stallMs)
    },
    end(last) {
      isReady = false
      if (last !== null) stream.push(last)
      stream.push(null)
      onClose()
    },
  }
}
