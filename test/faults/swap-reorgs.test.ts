/**
 * Chains that remove the block of an approval or of its swap, or forget both, approvals that are cancelled and requests
 * that race: no swap is executed without its approval, twice, or below its minimum.
 */
import t, { type Test } from 'tap'
import { toQuantity } from '../../src/chain/hex.ts'
import { overtake } from '../support/overtake.ts'
import { auditStage } from '../support/points-audit.ts'
import { withPointsStage } from '../support/points-stage.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const stage = await withPointsStage(t)
const { service, rpc, url, trader, api } = stage
const { pool } = service
/** More than the price moves on the way to a swap by its like, and less than by somebody large. */
const SLIPPAGE_BPS = 5
const LARGE = 2_000n

const path = `/v1/wallets/${trader.wallet.id}/transactions`
const read = async (id: string) => (await api.insist({ path: `${path}/${id}` })).body.data
const until = (id: string, ...states: string[]) => api.until(`${path}/${id}`, ({ state }) => states.includes(state))

/** A swap whose approval a node has and no block includes. */
async function approving(): Promise<{ readonly swap: string; readonly approval: string }> {
  const swap = await trader.trade('sell', { quoted: true, slippageBps: SLIPPAGE_BPS })
  const approval = (await read(swap)).depends_on as string
  await until(approval, 'submitted')
  return { swap, approval }
}

/** The block and the nonce of a transaction: approvals come first in both. */
async function placeOf(id: string): Promise<readonly [number, number]> {
  const { block_number: block, nonce } = await read(id)
  return [block, nonce]
}

/** Both were executed, the approval first. */
async function bothConfirmed(t: Test, { swap, approval }: { readonly swap: string; readonly approval: string }) {
  t.match(await read(approval), { state: 'confirmed' })
  t.match(await read(swap), { state: 'confirmed', swap: { executed_from_amount: String } })
  const [[approvedIn, first], [swappedIn, second]] = [await placeOf(approval), await placeOf(swap)]
  t.ok(approvedIn <= swappedIn && first < second, 'the approval is executed first')
}

async function moveThePrice(): Promise<void> {
  const text = 'SELECT quote_id FROM swap_quotes ORDER BY expires_at DESC LIMIT 1'
  const { rows } = await pool.query<{ quote_id: string }>(text)
  await overtake({ pool, url }, rows[0]?.quote_id ?? '', LARGE)
}

/** A test that ends with the audit of everything so far. */
function audited(name: string, body: (t: Test) => Promise<void>): void {
  t.test(name, async (t) => {
    await body(t)
    t.strictSame(await auditStage(stage), [], 'the audit finds no problem')
  })
}

audited('a swap is not signed after a reorg of its approval, until another block has it', async (t) => {
  const { swap, approval } = await approving()
  await stage.stop('signer')
  await rpc('evm_mine')
  await until(approval, 'mined')
  await rpc('anvil_reorg', 1, [])
  await until(approval, 'reorged', 'submitted')
  await stage.start('signer')
  // The signer has looked at the lane when it has signed a later transaction of the wallet.
  const later = await trader.trade('call')
  await until(later, 'submitted')
  t.match(await read(swap), { state: 'requested', hash: null, nonce: null })
  await stage.settle()
  await bothConfirmed(t, { swap, approval })
})

audited('a reorg of the approval after the swap was signed changes nothing', async (t) => {
  const { swap, approval } = await approving()
  await rpc('evm_mine')
  const { hash } = await until(swap, 'submitted')
  await rpc('anvil_reorg', 1, [])
  await until(approval, 'reorged', 'submitted')
  await stage.settle()
  await bothConfirmed(t, { swap, approval })
  t.equal((await read(swap)).hash, hash, 'the bytes are the same')
})

audited('a swap that a reorg moves behind a worse price fails on chain, and its token is kept', async (t) => {
  const { swap, approval } = await approving()
  await rpc('evm_mine')
  await until(swap, 'submitted')
  await rpc('evm_mine')
  await until(swap, 'mined')
  await stage.stop('submitter')
  await rpc('anvil_reorg', 2, [])
  await until(swap, 'reorged')
  await moveThePrice()
  await stage.start('submitter')
  await stage.settle()
  t.match(await read(approval), { state: 'confirmed' })
  t.match(await read(swap), {
    status: 'failed',
    state: 'reverted',
    failure: { code: 'slippage_exceeded' },
    swap: { executed_from_amount: null, executed_to_amount: null },
  })
})

audited('a swap that a node forgot with all its blocks is executed again as the same bytes, once', async (t) => {
  const snapshot = await rpc('evm_snapshot')
  const swap = await trader.trade('sell', { quoted: true, slippageBps: SLIPPAGE_BPS })
  await stage.settle()
  const { hash, depends_on: approval } = await until(swap, 'confirmed')
  await rpc('evm_revert', snapshot)
  const head = (await rpc('eth_getBlockByNumber', 'latest', false)) as { timestamp: string }
  await rpc('evm_setNextBlockTimestamp', toQuantity(Number(head.timestamp) + 100))
  await rpc('anvil_mine', '0x4')
  await until(swap, 'reorged', 'submitted', 'mined')
  await stage.settle()
  await bothConfirmed(t, { swap, approval })
  t.equal((await read(swap)).hash, hash, 'the bytes are the same')
})

audited('a swap whose approval is cancelled in the mempool fails unsigned', async (t) => {
  const { swap, approval } = await approving()
  t.equal((await api.insist({ method: 'POST', path: `${path}/${approval}/cancel`, key: approval })).status, 202)
  const cancellation = await eventually(async () => (await read(approval)).hashes[1])
  await eventually(() => rpc('eth_getTransactionByHash', cancellation))
  await stage.settle()
  t.match(await read(approval), { state: 'cancelled', hash: cancellation })
  t.match(await read(swap), { state: 'failed', hash: null, nonce: null, failure: { code: 'dependency_failed' } })
})

audited('of swaps that race in two API processes, each accepted one is executed once', async (t) => {
  const other = await service.startApi()
  const replies = await Promise.all([0, 1, 2, 3].map((n) => trader.request('sell', n % 2 === 0 ? {} : { api: other })))
  const accepted = replies.filter(({ status }) => status === 202)
  t.ok(accepted.length > 0, 'one at least is accepted')
  await stage.settle()
  for (const { body } of accepted) t.match(await read(body.data.transaction_id), { state: 'confirmed' })
})

t.end()
