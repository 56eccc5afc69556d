/**
 * A node that answers for one sender after 30 seconds delays no other lane: their waits are compared with those of a run
 * without it, and all of them are sent before it.
 */
import { Transaction } from 'ethers'
import t from 'tap'
import { auditChain } from '../support/chain-audit.ts'
import { createTimer, mustNotGrow, shown, summary } from '../support/hash-waits.ts'
import type { LoadWallet } from '../support/load.ts'
import type { RpcCall } from '../support/node-fates.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { withNodeProxyBefore } from '../support/service-node-proxy.ts'
import { type Stage, withStage } from '../support/service-stage.ts'

/** Transfers of each lane, one after the other. */
const TRANSFERS = 5
const OTHERS = 16
/** Nine of ten of the others may wait this much longer: a wide margin, for a machine that does other things too. */
const RATIO = 3
const LATE_MS = 30_000
const env = {
  RPC_TIMEOUT_MS: '60000',
  SIGN_WAIT_MS: '60000',
  LEASE_MS: '10000',
  SWEEP_INTERVAL_MS: '45000',
  REBROADCAST_AFTER_MS: '600000',
}

/** Whether an exchange is about this sender. */
function isAbout(calls: readonly RpcCall[], address: string, methods: RegExp): boolean {
  return calls.some(({ method, params }) => {
    if (!methods.test(method)) return false
    if (method === 'eth_sendRawTransaction') return Transaction.from(String(params[0])).from === address
    return JSON.stringify(params).toLowerCase().includes(address.toLowerCase())
  })
}

async function statesOf({ service }: Stage, wallets: readonly LoadWallet[]): Promise<readonly string[]> {
  const { rows } = await service.pool.query<{ state: string }>(
    'SELECT DISTINCT state FROM transactions WHERE wallet_id = ANY($1) ORDER BY state',
    [wallets.map(({ id }) => id)],
  )
  return rows.map(({ state }) => state)
}

for (const [what, methods] of [
  ['every question about it', /./],
  ['its sending alone', /^eth_sendRawTransaction$/],
] as const)
  t.test(`a lane whose node answers after 30 seconds, ${what}: the others sign and send without it`, async (t) => {
    const { node, before } = await withNodeProxyBefore(t)
    const stage = await withStage(t, { nodes: before, env })
    const [slow, ...others] = (await stage.service.makeWallets(OTHERS + 1)) as [LoadWallet, ...LoadWallet[]]
    const { waitsOf, answers } = createTimer()
    const senders = others.map((wallet) => ({ api: stage.service.api, wallets: [wallet] }))
    await waitsOf(senders, TRANSFERS) // Everything is compiled, read and connected.
    const alone = await waitsOf(senders, TRANSFERS)

    node.decide = (calls) => (isAbout(calls, slow.address, methods) ? { type: 'late', ms: LATE_MS } : { type: 'pass' })
    const id = await stage.send(slow, '0.5')
    await eventually(() => (node.told.get('late') ?? 0) > 0)
    // The first of them may have been asked with it.
    const first = await waitsOf(senders, 1)
    const beside = await waitsOf(senders, TRANSFERS)
    t.comment(`the first waits: ${shown(first)} ms`)
    mustNotGrow(t, `${OTHERS} lanes`, { alone, beside, ratio: RATIO, mostMs: LATE_MS / 2 })
    t.ok(summary(first).longest < LATE_MS / 2, 'nor do those that were asked with it')
    await eventually(async () => (await statesOf(stage, others)).join() === 'submitted')
    t.match(await stage.read(slow, id), { state: /^(requested|signed)$/ }, 'it is not sent yet, and all others are')
    node.decide = () => ({ type: 'pass' })
    await stage.settle()
    t.match(await stage.read(slow, id), { state: 'confirmed' })
    const audit = await auditChain({ places: stage.service.places, wallets: others, answers })
    t.match(audit, { problems: [], accepted: answers.length, once: answers.length, lost: 0, doubled: 0 })
  })
