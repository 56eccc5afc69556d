/**
 * The requests made while one of the service's processes dies: each act goes through its own steps, and ends when
 * nothing of it is in progress. An act that ends without an error has succeeded, whatever died.
 */
import { toQuantity } from '../../src/chain/hex.ts'
import { accepted } from './client.ts'
import { createWallet, type LoadWallet } from './load.ts'
import type { PointsStage } from './points-stage.ts'
import { eventually } from './sandbox-eventually.ts'
import { RECIPIENT } from './service-stage.ts'

export type Act = { readonly name: string; readonly play: (stage: PointsStage) => Promise<void> }

/** An unlocked account of the node. */
const STRANGER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const FUNDS_WEI = 10n ** 18n

let played = 0
const nextKey = (what: string) => {
  played += 1
  return `${what}-${played}`
}

async function stateOf({ service }: PointsStage, id: string): Promise<{ state: string; versions: number }> {
  const { rows } = await service.pool.query<{ state: string; versions: number }>(
    'SELECT state, jsonb_array_length(hashes) AS versions FROM transactions WHERE transaction_id = $1',
    [id],
  )
  const [row] = rows
  if (row === undefined) throw new Error(`${id} was accepted and is not there`)
  return row
}

const until = (stage: PointsStage, id: string, ...states: string[]) =>
  eventually(async () => states.includes((await stateOf(stage, id)).state))

export async function mustBe(stage: PointsStage, id: string, ...states: string[]): Promise<void> {
  const { state } = await stateOf(stage, id)
  if (!states.includes(state)) throw new Error(`${id} is ${state} and must be ${states.join(' or ')}`)
}

/** A transfer that a node has and no block includes. */
export async function submitted(stage: PointsStage): Promise<{ readonly wallet: LoadWallet; readonly id: string }> {
  const [wallet] = stage.wallets as [LoadWallet]
  const id = await stage.send(wallet, 'native')
  await until(stage, id, 'submitted')
  return { wallet, id }
}

const change = ({ api }: PointsStage, { id: walletId }: LoadWallet, id: string, what: string, body = {}) =>
  api.insist({
    method: 'POST',
    path: `/v1/wallets/${walletId}/transactions/${id}/${what}`,
    key: nextKey(`${what}-${id}`),
    body,
  })

export function actNamed(name: string): Act {
  const act = ACTS.find((one) => one.name === name)
  if (act === undefined) throw new Error(`no act is ${name}`)
  return act
}

export const ACTS: readonly Act[] = [
  {
    name: 'a wallet is made and paid',
    async play(stage) {
      const wallet = await createWallet(stage.api, 'ethereum', nextKey('wallet'))
      await stage.rpc('eth_sendTransaction', { from: STRANGER, to: wallet.address, value: toQuantity(FUNDS_WEI) })
      await eventually(async () => {
        await stage.rpc('evm_mine')
        const text = 'SELECT FROM balances WHERE wallet_id = $1 AND balance = $2'
        return (await stage.service.pool.query(text, [wallet.id, FUNDS_WEI.toString()])).rowCount === 1
      })
      await stage.settle()
    },
  },
  {
    name: 'a transfer',
    async play(stage) {
      const [wallet] = stage.wallets as [LoadWallet]
      const id = await stage.send(wallet, 'native')
      await stage.settle()
      await mustBe(stage, id, 'confirmed')
    },
  },
  {
    name: 'a token transfer',
    async play(stage) {
      const id = await stage.send(stage.wallets[1] as LoadWallet, 'USDC')
      await stage.settle()
      await mustBe(stage, id, 'confirmed')
    },
  },
  {
    name: 'a cancellation',
    async play(stage) {
      const { wallet, id } = await submitted(stage)
      await change(stage, wallet, id, 'cancel')
      await until(stage, id, 'replaced', 'submitted')
      await eventually(async () => (await stateOf(stage, id)).versions === 2)
      await stage.settle()
      await mustBe(stage, id, 'cancelled', 'confirmed')
    },
  },
  {
    name: 'a speed-up',
    async play(stage) {
      const { wallet, id } = await submitted(stage)
      await change(stage, wallet, id, 'speed-up', { gas_priority: 'high' })
      await eventually(async () => (await stateOf(stage, id)).versions === 2)
      await stage.settle()
      await mustBe(stage, id, 'confirmed')
    },
  },
  {
    name: 'a bump of what is stuck',
    async play(stage) {
      const { id } = await submitted(stage)
      // As if it had waited for hours. The next event of the transaction rewrites the row.
      const text = `UPDATE transactions SET updated_at = updated_at - interval '3 hours' WHERE transaction_id = $1`
      await stage.service.pool.query(text, [id])
      await eventually(async () => (await stateOf(stage, id)).versions >= 2)
      await stage.settle()
      await mustBe(stage, id, 'confirmed')
    },
  },
  {
    name: 'a reorg',
    async play(stage) {
      const { id } = await submitted(stage)
      await stage.rpc('evm_mine')
      await until(stage, id, 'mined')
      await stage.rpc('anvil_reorg', 1, [])
      await until(stage, id, 'reorged', 'submitted', 'mined')
      await stage.settle()
      await mustBe(stage, id, 'confirmed')
    },
  },
  {
    name: 'a mint',
    async play(stage) {
      const body = { collection_id: stage.collectionId, recipient: RECIPIENT, metadata: { name: nextKey('Token') } }
      const { mint_id } = accepted(await stage.api.send('/v1/nft/mint', body, nextKey('mint')))
      await stage.settle()
      const { status } = accepted(await stage.api.insist({ path: `/v1/nft/mints/${mint_id}` }))
      if (status !== 'MINTED') throw new Error(`the mint is ${status}`)
    },
  },
  {
    name: 'a swap',
    async play(stage) {
      const id = await stage.trader.trade('sell', { quoted: true })
      await stage.settle()
      await mustBe(stage, id, 'confirmed')
    },
  },
  {
    name: 'a contract call',
    async play(stage) {
      const id = await stage.trader.trade('call')
      await stage.settle()
      await mustBe(stage, id, 'confirmed')
    },
  },
]
