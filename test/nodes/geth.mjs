// A chain of go-ethereum in developer mode: its own genesis and chain id, blocks of two seconds, state on disk, the usual
// limits of its pool and of its fees.

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

/** @param {string} name of a built module */
const built = (name) => import(new URL(`../../dist/src/${name}.js`, import.meta.url).href)
const { startChild, stopChild } = await built('sandbox/processes')
const { callRpc } = await built('sandbox/rpc')
const { OWNER } = await built('sandbox/deploy')

/** The well-known key of OWNER, the first account of every local development node. */
const OWNER_KEY = 'ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
const OWNER_WEI = `0x1${'0'.repeat(40)}`
const GAS_LIMIT = `0x${(200_000_000).toString(16)}`
const BLOCK_SECONDS = 2
const READY_TIMEOUT_MS = 60_000
const STOP_GRACE_MS = 30_000

/**
 * @param {{ program: string, fork?: string, forkAfterSeconds?: number, chainId: number, port: number, directory: string }}
 *   options `fork` is osaka, amsterdam, or crossing: first the one, and after that time the other
 * @returns {Promise<import('../../src/sandbox/supervisor.ts').Running>}
 */
export async function startGeth({ program, fork = 'osaka', forkAfterSeconds = 0, chainId, port, directory }) {
  const data = join(directory, 'geth')
  if (!existsSync(join(data, 'geth'))) await initialise({ program, fork, forkAfterSeconds, chainId, data })
  const flags = ['--dev', '--dev.period', String(BLOCK_SECONDS), '--miner.gaslimit', String(Number(GAS_LIMIT))]
  flags.push('--http', '--http.port', String(port), '--http.api', 'eth,net,web3,txpool')
  flags.push('--port', '0', '--nodiscover', '--maxpeers', '0', '--ipcdisable', '--verbosity', '2')
  const child = await startChild({
    command: program,
    args: ['--datadir', data, ...flags],
    logFile: join(directory, 'geth.log'),
    onParentDeath: 'TERM',
  })
  await untilReady(`http://127.0.0.1:${port}`, child)
  return { pid: child.pid, exited: child.exited, stop: () => stopChild(child, 'SIGTERM', STOP_GRACE_MS) }
}

/** @param {{ program: string, fork: string, forkAfterSeconds: number, chainId: number, data: string }} options */
async function initialise({ program, fork, forkAfterSeconds, chainId, data }) {
  await mkdir(data, { recursive: true })
  const run = (/** @type {string[]} */ ...args) => promisify(execFile)(program, args, { maxBuffer: 1e8 })
  const genesis = JSON.parse((await run('--dev', 'dumpgenesis')).stdout)
  genesis.config.chainId = chainId
  // The developer's genesis may have rules of the future.
  delete genesis.config.bogotaTime
  if (fork === 'amsterdam') genesis.config.amsterdamTime = 0
  if (fork === 'crossing') genesis.config.amsterdamTime = Math.floor(Date.now() / 1_000) + forkAfterSeconds
  genesis.gasLimit = GAS_LIMIT
  genesis.alloc[OWNER.slice(2).toLowerCase()] = { balance: OWNER_WEI }
  const genesisFile = join(data, 'genesis.json')
  const keyFile = join(data, 'key')
  const passwordFile = join(data, 'password')
  await writeFile(genesisFile, JSON.stringify(genesis))
  await writeFile(keyFile, OWNER_KEY)
  await writeFile(passwordFile, '\n')
  await run('account', 'import', '--datadir', data, '--lightkdf', '--password', passwordFile, keyFile)
  await run('--datadir', data, 'init', genesisFile)
}

/**
 * @param {string} url
 * @param {import('../../src/sandbox/processes.ts').Child} child
 */
async function untilReady(url, child) {
  let isGone = false
  void child.exited.then(() => {
    isGone = true
  })
  const deadline = Date.now() + READY_TIMEOUT_MS
  while (!isGone && Date.now() < deadline) {
    // Block 1: the developer's beacon makes blocks.
    const head = await callRpc(url, 'eth_blockNumber').catch(() => '0x0')
    if (Number(head) > 0) return
    await sleep(50)
  }
  await stopChild(child, 'SIGKILL', STOP_GRACE_MS)
  throw new Error('geth did not start: read geth.log beside its data')
}
