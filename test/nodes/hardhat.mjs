// A chain of Hardhat's node with blocks of one second, on the version of Node that it needs. It keeps nothing on disk.

import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** @param {string} name of a built module */
const built = (name) => import(new URL(`../../dist/src/${name}.js`, import.meta.url).href)
const { startChild, stopChild } = await built('sandbox/processes')
const { callRpc } = await built('sandbox/rpc')
const { DEPLOYMENT_PROXY } = await built('chain/deployment-proxy')

/** What public chains and the genesis of other development nodes have: github.com/Arachnid/deterministic-deployment-proxy. */
const PROXY_CODE =
  '0x7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe03601600081602082378035828234f58015156039578182fd5b8082525050506014600cf3'
const READY_TIMEOUT_MS = 120_000
const STOP_GRACE_MS = 30_000

/**
 * @param {{ program: string, chainId: number, port: number, directory: string }} options `program`: the folder with the
 *   packages hardhat and node-<platform>-<arch>
 * @returns {Promise<import('../../src/sandbox/supervisor.ts').Running>}
 */
export async function startHardhat({ program, chainId, port, directory }) {
  const packages = join(program, 'node_modules')
  const network = {
    type: 'edr-simulated',
    chainId,
    blockGasLimit: 200_000_000,
    mining: { auto: false, interval: 1_000 },
  }
  await writeFile(join(directory, 'package.json'), '{"type":"module"}')
  await writeFile(
    join(directory, 'hardhat.config.js'),
    `export default ${JSON.stringify({ networks: { node: network } })}`,
  )
  await symlink(packages, join(directory, 'node_modules')).catch(() => undefined) // It is there after a restart.
  const child = await startChild({
    command: join(packages, `node-${process.platform}-${process.arch}`, 'bin', 'node'),
    args: [join(packages, 'hardhat/dist/src/cli.js'), 'node', '--hostname', '127.0.0.1', '--port', String(port)],
    cwd: directory,
    env: { ...process.env, HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true' },
    logFile: join(directory, 'hardhat.log'),
    onParentDeath: 'TERM',
  })
  const url = `http://127.0.0.1:${port}`
  await untilReady(url, child)
  await callRpc(url, 'hardhat_setCode', [DEPLOYMENT_PROXY, PROXY_CODE])
  return { pid: child.pid, exited: child.exited, stop: () => stopChild(child, 'SIGTERM', STOP_GRACE_MS) }
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
    if ((await callRpc(url, 'eth_blockNumber').catch(() => null)) !== null) return
    await sleep(50)
  }
  await stopChild(child, 'SIGKILL', STOP_GRACE_MS)
  throw new Error("Hardhat's node did not start: read hardhat.log")
}
