/**
 * Ports of 127.0.0.1 for programs that listen only some seconds after their port was chosen. In between nobody else may
 * take it, so a chooser takes ports from blocks that it holds: it listens on the first port of the block until the
 * process ends, and hands out the others.
 */
import { randomInt } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'

const LOOPBACK = '127.0.0.1'
/** Below the ports of outgoing connections: from 32768 on Linux, from 49152 elsewhere (RFC 6335, section 6). */
const LOWEST = 10_240
/** Divides LOWEST. */
const BLOCK_SIZE = 32
const BLOCKS = Math.floor((32_768 - LOWEST) / BLOCK_SIZE)
const TRIES = 1_000

export type PortChooser = {
  /**
   * The port in `file` if no other program listens on it or holds its block, otherwise a free one, which is then stored
   * there: a service keeps its port over restarts.
   */
  readonly keptPort: (file: string) => Promise<number>
  /** A free port of 127.0.0.1 that no other chooser hands out while this process runs. */
  readonly freePort: () => Promise<number>
}

/** The chooser of this process. */
export const { keptPort, freePort } = createPortChooser()

export function createPortChooser(): PortChooser {
  /** First ports of the blocks that this chooser holds. */
  const held = new Set<number>()
  /** The port to hand out next; the first port of a block when a new block is needed. */
  let next = LOWEST

  async function hold(block: number): Promise<boolean> {
    const server = await listenOn(block)
    if (server === undefined) return false
    server.unref()
    held.add(block)
    return true
  }

  async function holdBlockOf(port: number): Promise<boolean> {
    const block = port - ((port - LOWEST) % BLOCK_SIZE)
    const isOfBlock = port >= LOWEST && block < LOWEST + BLOCK_SIZE * BLOCKS
    return !isOfBlock || held.has(block) || hold(block)
  }

  async function choose(): Promise<number> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      if (next % BLOCK_SIZE === 0) {
        const block = LOWEST + BLOCK_SIZE * randomInt(BLOCKS)
        if (!held.has(block) && (await hold(block))) next = block + 1
      } else {
        const port = next
        next += 1
        if (await isFree(port)) return port
      }
    }
    throw new Error('no free port on 127.0.0.1')
  }

  return {
    async keptPort(file) {
      const kept = Number(await readFile(file, 'utf8').catch(() => ''))
      if (Number.isInteger(kept) && kept > 0 && (await holdBlockOf(kept)) && (await isFree(kept))) return kept
      const port = await choose()
      await writeFile(file, `${port}\n`, { mode: 0o600 })
      return port
    },
    freePort: choose,
  }
}

/** Whether nobody listens on `port` of 127.0.0.1. */
export async function isFree(port: number): Promise<boolean> {
  const server = await listenOn(port)
  if (server === undefined) return false
  await new Promise((resolve) => server.close(resolve))
  return true
}

function listenOn(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy())
    server.once('error', () => resolve(undefined))
    server.listen({ port, host: LOOPBACK, exclusive: true }, () => resolve(server))
  })
}
