/**
 * Saves a local chain to disk while it runs. The state is requested between two blocks and written atomically.
 *
 * Invariant: the file never holds a state without its block. anvil's own `--state-interval` does not wait for a block
 * in progress: it may write the accounts after the block without the block, so that its transactions have taken effect
 * and cannot be found.
 */
import { execFile } from 'node:child_process'
import { createWriteStream, existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { createGunzip } from 'node:zlib'
import { callRpc, streamRpc } from './rpc.ts'

/**
 * What a kill -9 of anvil may lose. A dump stops the node: after 20,000 transfers it writes 43 MB and delays a request
 * by 0.3 s, after 10,000 empty blocks 18 MB; once in 10 s that is 3 %.
 */
const STATE_INTERVAL_MS = 10_000
/** A dump that takes long is made less often: dumps take at most this share of the time. */
const DUMPING_SHARE = 0.05
/** Interval at rest: only empty blocks may be lost, some 50 of them, far fewer than the hashes that a follower keeps. */
const IDLE_STATE_INTERVAL_MS = 600_000

/** The file that anvil reads at its start, and the one that it writes at its end. */
export type StateFiles = { readonly current: string; readonly last: string }

export function stateFiles(directory: string): StateFiles {
  return { current: join(directory, 'state.json'), last: join(directory, 'state.last.json') }
}

/** Returns a function to call often between blocks: it saves periodically when there are changes. */
export function createStateKeeper(
  url: string,
  files: StateFiles,
): (chain: { readonly isIdle: boolean }) => Promise<void> {
  let endedAt = performance.now()
  let tookMs = 0
  let savedHead: unknown = null
  let wasIdle = false
  // Since the last save: something may have been mined in a moment between two looks.
  let isQuiet = true
  return async ({ isIdle }) => {
    const startedAt = performance.now()
    isQuiet &&= isIdle
    const intervalMs = isQuiet && wasIdle ? IDLE_STATE_INTERVAL_MS : STATE_INTERVAL_MS
    if (startedAt < endedAt + Math.max(intervalMs, tookMs / DUMPING_SHARE)) return
    const head = await callRpc(url, 'eth_blockNumber')
    if (head !== savedHead) await saveState(url, files)
    savedHead = head
    endedAt = performance.now()
    tookMs = endedAt - startedAt
    wasIdle = isIdle
    isQuiet = true
  }
}

/**
 * The state is never in memory as a whole.
 *
 * @throws Error when the node is unavailable or the disk is full: the files are then unchanged
 */
export async function saveState(url: string, { current }: StateFiles): Promise<void> {
  const making = `${current}.new`
  const dump = Readable.from(streamRpc(url, 'anvil_dumpState'))
  await pipeline(dump, createGunzip(), createWriteStream(making, { mode: 0o600 }))
  await rename(making, current)
}

/**
 * Call before anvil starts. Returns the state to start from; `null`: there is none, and the chain starts from block 0.
 * anvil writes its last state in place, and a kill during the write leaves an incomplete file, with which it would
 * refuse to start: the state that was saved before is then used.
 */
export async function chooseState({ current, last }: StateFiles): Promise<string | null> {
  if (await isWhole(last)) await rename(last, current)
  else await rm(last, { force: true })
  return existsSync(current) ? current : null
}

/** In a process of its own: this one would keep the memory that a large file needs. */
async function isWhole(file: string): Promise<boolean> {
  if (!existsSync(file)) return false
  const program = 'JSON.parse(require("node:fs").readFileSync(process.argv[1], "utf8"))'
  return promisify(execFile)(process.execPath, ['--eval', program, file]).then(
    () => true,
    () => false, // Truncated.
  )
}
