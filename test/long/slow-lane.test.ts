/**
 * A node that answers for some senders after 30 seconds delays no other lane: their waits are compared with those of a run
 * without it, and all of them are sent before it. A lane whose question went to the node in one batch with the first
 * question of a slow one waits for the patience of the batch, and then asks alone.
 */
import { Transaction } from 'ethers'
import t from 'tap'
import { PATIENCE_MS } from '../../src/chain/asked-together.ts'
import { auditChain } from '../support/chain-audit.ts'
import { createTimer, mustNotGrow, summary } from '../support/hash-waits.ts'
import type { LoadWallet } from '../support/load.ts'
import { matchExactly } from '../support/match-exactly.ts'
import type { RpcCall } from '../support/node-fates.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { withNodeProxyBefore } from '../support/service-node-proxy.ts'
import { type Stage, withStage } from '../support/service-stage.ts'

/** Of transfers of each lane; in each of them one more lane is slow. */
const ROUNDS = 5
const OTHERS = 16
/** Nine of ten of the others may wait this much longer: a wide margin, for a machine that does other things too. */
const RATIO = 10
const LATE_MS = 30_000
const env = {
  RPC_TIMEOUT_MS: '60000',
  SIGN_WAIT_MS: '60000',
  LEASE_MS: '10000',
  SWEEP_INTERVAL_MS: '5000',
  REBROADCAST_AFTER_MS: '5000',
}

const sendersOf = new Map<string, string>()

/** Remembered: recovering a sender takes longer than all else that the proxy does. */
function senderOf(raw: string): string {
  const sender = sendersOf.get(raw) ?? Transaction.from(raw).from ?? ''
  sendersOf.set(raw, sender)
  return sender
}

/** Whether an exchange is about one of these senders. */
function isAbout(calls: readonly RpcCall[], wallets: readonly LoadWallet[], methods: RegExp): boolean {
  return calls.some(({ method, params }) => {
    if (!methods.test(method)) return false
    const named = (
      method === 'eth_sendRawTransaction' ? senderOf(String(params[0])) : JSON.stringify(params)
    ).toLowerCase()
    return wallets.some(({ address }) => named.includes(address.toLowerCase()))
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
  ['every question about them', /./],
  ['their sending alone', /^eth_sendRawTransaction$/],
] as const)
  t.test(`lanes whose node answers after 30 seconds, ${what}: the others sign and send without it`, async (t) => {
    const { node, before } = await withNodeProxyBefore(t)
    const stage = await withStage(t, { nodes: before, env })
    const others = await stage.service.makeWallets(OTHERS)
    const slow = await stage.service.makeWallets(2 * ROUNDS)
    const { waitsOf, answers } = createTimer()
    const senders = others.map((wallet) => ({ api: stage.service.api, wallets: [wallet] }))
    /** Each of the others sends, again and again. */
    async function measure(round: (send: () => Promise<number[]>) => Promise<number[]>): Promise<number[]> {
      const waits: number[] = []
      for (let n = 0; n < ROUNDS; n += 1) waits.push(...(await round(() => waitsOf(senders, 1))))
      return waits
    }
    await measure((send) => send()) // Everything is compiled, read and connected.
    const alone = await measure((send) => send())

    let isAsked: () => void = () => undefined
    node.decide = (calls) => {
      if (!isAbout(calls, slow, methods)) return { type: 'pass' }
      isAsked()
      return { type: 'late', ms: LATE_MS }
    }
    const ids = new Map<string, LoadWallet>()
    const sendSlow = async () => {
      const wallet = slow[ids.size] as LoadWallet
      ids.set(await stage.send(wallet, '0.5'), wallet)
    }
    const beside = await measure(async (send) => {
      const asked = new Promise<void>((resolve) => {
        isAsked = resolve
      })
      await Promise.all([asked, sendSlow()])
      return send()
    })
    const together = await measure(async (send) => (await Promise.all([send(), sendSlow()]))[0])
    mustNotGrow(t, `${OTHERS} lanes`, { alone, beside, ratio: RATIO })
    t.comment(`p90 of those that ask at the same time: ${Math.round(summary(together).p90)} ms`)
    t.ok(summary(together).p90 <= RATIO * summary(alone).p90 + PATIENCE_MS, 'they wait for the patience of a batch')
    t.ok(summary(beside).longest - summary(alone).longest < LATE_MS / 2, 'nobody waits for it')
    await eventually(() => (node.told.get('late') ?? 0) > 0)
    await eventually(async () => (await statesOf(stage, others)).join() === 'submitted')
    const [last] = [...ids].reverse() as [[string, LoadWallet]]
    t.match(
      await stage.read(last[1], last[0]),
      { state: /^(requested|signed)$/ },
      'it is not sent yet, and all others are',
    )
    node.decide = () => ({ type: 'pass' })
    await stage.settle()
    for (const [id, wallet] of ids) t.match(await stage.read(wallet, id), { state: 'confirmed' })
    const audit = await auditChain({ places: stage.service.places, wallets: others, answers })
    matchExactly(t, audit, { problems: [], accepted: answers.length, once: answers.length, lost: 0, doubled: 0 })
  })

t.end()
