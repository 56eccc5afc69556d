/**
 * Keeps a local chain on disk while it runs. The state is asked for between two blocks and put in place whole.
 *
 * Invariant: the file never holds a state that no block led to. anvil's own `--state-interval` does not wait for a block
 * that is being made: the accounts it writes may be those after the block, and the block be missing, so that what was sent
 * in it is paid and nowhere to be found.
 */
import { copyFile, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { callRpc } from './rpc.ts'

/**
 * What a kill -9 of anvil may lose. A dump stops the node: after 20,000 transfers it writes 43 MB and holds a request
 * up for 0.3 s, after 10,000 empty blocks 18 MB; once in 10 s that is 3 %.
 */
const STATE_INTERVAL_MS = 10_000

/** Where anvil reads the state at its start, and where the state before that lies. */
export type StateFiles = { readonly current: string; readonly former: string }

export function stateFiles(directory: string): StateFiles {
  const current = join(directory, 'state.json')
  return { current, former: `${current}.former` }
}

/** Returns what is to be called often while no block is made: it saves now and then, when there is something new. */
export function createStateKeeper(url: string, files: StateFiles): () => Promise<void> {
  let lookedAt = performance.now()
  let savedHead: unknown = null
  return async () => {
    if (performance.now() - lookedAt < STATE_INTERVAL_MS) return
    const head = await callRpc(url, 'eth_blockNumber')
    if (head !== savedHead) await saveState(url, files)
    lookedAt = performance.now()
    savedHead = head
  }
}

/** @throws Error when the node is away or the disk is full: the files are then as they were */
export async function saveState(url: string, { current, former }: StateFiles): Promise<void> {
  const dump = (await callRpc(url, 'anvil_dumpState')) as string
  const state = await promisify(gunzip)(Buffer.from(dump.slice(2), 'hex'))
  const making = `${current}.new`
  await writeFile(making, state, { mode: 0o600 })
  // A kill between the two leaves the former alone: it is as good as the one that was to come, and a little older.
  await rename(current, former).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  await rename(making, current)
}

/**
 * To be called before anvil starts. It writes its last state in place: a kill in the middle leaves half a file, at which it
 * would refuse to start, and the state before that takes its place. Without either the chain begins anew, which to what
 * follows it is a deep reorg.
 */
export async function mendState({ current, former }: StateFiles): Promise<void> {
  if (await isWhole(current)) return copyFile(current, former)
  await rm(current, { force: true })
  if (await isWhole(former)) await copyFile(former, current)
}

async function isWhole(file: string): Promise<boolean> {
  try {
    JSON.parse(await readFile(file, 'utf8'))
    return true
  } catch {
    return false // Missing or cut off: either way there is no state in it.
  }
}
