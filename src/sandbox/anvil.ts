/**
 * One local chain: an anvil process that answers when the start returns, optionally keeps its blocks in a file, and
 * ends with its parent.
 */

import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { SANDBOX_BLOCK_GAS } from '../chain/forks.ts'
import { chooseState, stateFiles } from './chain-state.ts'
import { type Child, type Exit, startChild, stopChild, stopLeftover } from './processes.ts'
import { callRpc } from './rpc.ts'

export type Anvil = {
  readonly url: string
  readonly chainId: number
  readonly port: number
  /** The pid of anvil itself. */
  readonly pid: number
  /** Resolves when the process has exited, for any reason. */
  readonly exited: Promise<Exit>
  /** Writes the chain's state and ends the process. */
  readonly stop: () => Promise<void>
}

/** Blocks that fit thousands of transfers, so that a load test measures the service and not the chain's gas limit. */
const GAS_LIMIT = SANDBOX_BLOCK_GAS
/**
 * Old states are needed for reading balances a few blocks back. Beyond its limit anvil would write each to ~/.foundry.
 * (The number is a lower bound: version 1.7.1 keeps almost twice as many.)
 */
const STATES_KEPT = 500
const READY_TIMEOUT_MS = 30_000
/** Writing the state of a long chain takes seconds. */
const STOP_GRACE_MS = 20_000

/**
 * Starts the chain and returns when it answers.
 *
 * @throws Error with the end of its log when it does not
 */
export async function startAnvil(options: {
  readonly chainId: number
  readonly port: number
  /** Holds the log and the pid file; with `keepState` also the chain. Created if missing. */
  readonly directory: string
  /** Keeps the chain over restarts: it is written on stop; chain-state.ts writes it periodically. Default false. */
  readonly keepState?: boolean
  /**
   * `clock`: a block per second, the default. `each`: a block per transaction, for tests that send a few: under a
   * flood, anvil leaves some pending forever. `call`: blocks only by `evm_mine`.
   *
   * Never anvil's `--mixed-mining`: under load it makes a block per transaction (119 a second, so that the chain's time
   * runs ahead of the clock) and stops with hundreds of ready transactions that it never mines.
   */
  readonly mining?: 'clock' | 'each' | 'call'
  /** Gas limit of a block. */
  readonly gasLimit?: bigint
  /** Number of unlocked accounts with 10,000 coins each. Default 10. */
  readonly accounts?: number
  /**
   * Number of newest blocks whose states are kept; default 500. A state takes 240 bytes for each account. Without it a
   * balance, call or reorg as of an older block is refused.
   */
  readonly statesKept?: number
  /** Number of newest blocks whose transactions and receipts are kept; default is all. One takes about 6 KB. */
  readonly blocksKept?: number
  /** Blocks until `safe`; twice as many until `finalized`. Default 1. */
  readonly slotsInAnEpoch?: number
  readonly extraArgs?: readonly string[]
}): Promise<Anvil> {
  await mkdir(options.directory, { recursive: true, mode: 0o700 })
  const binary = findAnvil()
  const pidFile = join(options.directory, 'anvil.pid')
  await stopEarlierAnvil(pidFile)
  const logFile = join(options.directory, 'anvil.log')
  await rm(logFile, { force: true })
  const child = await startChild({
    command: binary,
    args: await argumentsOf(options),
    logFile,
    onParentDeath: 'TERM',
  })
  await writeFile(pidFile, `${child.pid}\n`)
  const url = `http://127.0.0.1:${options.port}`
  await untilReady(child, url, options.chainId, logFile)
  return {
    url,
    chainId: options.chainId,
    port: options.port,
    pid: child.pid,
    exited: child.exited,
    stop: () => stopChild(child, 'SIGTERM', STOP_GRACE_MS),
  }
}

/** The native program: the package's own `bin` is a script with a different pid. */
function findAnvil(): string {
  const cpu = process.arch === 'x64' ? 'amd64' : process.arch
  const name = `@foundry-rs/anvil-${process.platform}-${cpu}`
  const require = createRequire(createRequire(import.meta.url).resolve('@foundry-rs/anvil/package.json'))
  try {
    return join(dirname(require.resolve(`${name}/package.json`)), 'bin', 'anvil')
  } catch (cause) {
    throw new Error(`${name} is not installed: set the RPC URLs of your own chains`, { cause })
  }
}

const MINING_FLAGS = { clock: ['--block-time', '1'], each: [], call: ['--no-mining'] } as const

async function argumentsOf(options: Parameters<typeof startAnvil>[0]): Promise<string[]> {
  const { mining = 'clock', slotsInAnEpoch = 1, accounts = 10, gasLimit = GAS_LIMIT, blocksKept } = options
  const flags = ['--host', '127.0.0.1', '--port', String(options.port), '--chain-id', String(options.chainId)]
  flags.push('--accounts', String(accounts), '--gas-limit', String(gasLimit), ...MINING_FLAGS[mining])
  // With the usual 32 the tags `safe` and `finalized` stay at block 0 for a minute of blocks.
  flags.push('--slots-in-an-epoch', String(slotsInAnEpoch))
  flags.push(`--prune-history=${options.statesKept ?? STATES_KEPT}`)
  if (blocksKept !== undefined) flags.push('--transaction-block-keeper', String(blocksKept))
  if (options.keepState) {
    const files = stateFiles(options.directory)
    const state = await chooseState(files)
    flags.push('--dump-state', files.last, ...(state === null ? [] : ['--load-state', state]))
  }
  return [...flags, '--quiet', ...(options.extraArgs ?? [])]
}

async function stopEarlierAnvil(pidFile: string): Promise<void> {
  const pid = Number(await readFile(pidFile, 'utf8').catch(() => ''))
  if (Number.isInteger(pid) && pid > 0) await stopLeftover(pid, 'anvil', ['SIGTERM', 'SIGKILL'], STOP_GRACE_MS)
}

async function untilReady(child: Child, url: string, chainId: number, logFile: string): Promise<void> {
  let isGone = false
  void child.exited.then(() => {
    isGone = true
  })
  const deadline = Date.now() + READY_TIMEOUT_MS
  while (!isGone && Date.now() < deadline) {
    const answer = await callRpc(url, 'eth_chainId').catch(() => undefined)
    if (answer === `0x${chainId.toString(16)}`) return
    await sleep(10)
  }
  await stopChild(child, 'SIGKILL', STOP_GRACE_MS)
  throw new Error(`anvil did not start:\n${await readFile(logFile, 'utf8').catch(() => '')}`)
}
