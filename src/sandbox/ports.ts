/**
 * Ports that stay the same over restarts: chosen once, stored in a file, and chosen again only when another program
 * uses them.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'

const LOOPBACK = '127.0.0.1'

/** The port in `file` if it is free, otherwise a free one, which is then stored there. */
export async function keptPort(file: string): Promise<number> {
  const kept = Number(await readFile(file, 'utf8').catch(() => ''))
  if (Number.isInteger(kept) && kept > 0 && (await isFree(kept))) return kept
  const port = await freePort()
  await writeFile(file, `${port}\n`, { mode: 0o600 })
  return port
}

/** A free port of 127.0.0.1. */
export async function freePort(): Promise<number> {
  const port = await listenOnce(0)
  if (port === undefined) throw new Error('no free port on 127.0.0.1')
  return port
}

/** Whether `port` of 127.0.0.1 is free. */
export async function isFree(port: number): Promise<boolean> {
  return (await listenOnce(port)) !== undefined
}

function listenOnce(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen(port, LOOPBACK, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' ? address?.port : undefined))
    })
  })
}
