/** A connection between two processes that a test can cut, block, or corrupt. */
import { connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

export type Wire = {
  readonly port: number
  /** Changes the data from the dialling side, from now on. */
  changeWith: (change: (piece: Buffer) => Buffer) => void
  /** Blocks both directions without closing the connection. */
  holdUp: () => void
  cut: () => void
  readonly connections: () => number
}

/** Opens a port on 127.0.0.1 that forwards to another one. */
export async function openWire(t: Test, to: number): Promise<Wire> {
  let change = (piece: Buffer) => piece
  let held = false
  let connections = 0
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    connections += 1
    const far = connect(to, '127.0.0.1')
    for (const [from, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('data', (piece: Buffer) => {
        if (!held) other.write(from === near ? change(piece) : piece)
      })
      from.on('error', () => other.destroy())
      from.on('close', () => other.destroy())
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    for (const socket of sockets) socket.destroy()
    sockets.clear()
  }
  t.after(() => {
    server.close()
    cut()
  })
  const bound = server.address()
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : 0,
    changeWith: (next) => {
      change = next
    },
    holdUp: () => {
      held = true
    },
    cut: () => {
      held = false
      cut()
    },
    connections: () => connections,
  }
}
