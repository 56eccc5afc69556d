/**
 * An attacker with the database login of one process, who appends with valid hashes and matching rows: signers and
 * parties sign nothing that the kind of an initial event does not allow, and believe no recorded bytes that the wallet
 * did not sign.
 */
import t, { type Test } from 'tap'
import { composeKernel, type Kernel } from '../../src/compose/kernel.ts'
import type { Opening } from '../../src/core/registry.ts'
import { decideNew, decideOn } from '../../src/event-log/aggregate.ts'
import { MAX_FILLERS_AN_HOUR } from '../../src/keys/mpc/filler-counts.ts'
import type { SigningItem } from '../../src/keys/mpc/protocol.ts'
import type { UnsignedTransaction } from '../../src/keys/signer.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { Intent } from '../../src/transactions/intent.ts'
import { goldenShares } from '../support/golden-shares.ts'
import type { LoadWallet } from '../support/load.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { askToSign, builtTransfer, ETHER, GWEI, refusalKinds, signingItem, THIEF, tagAs } from '../support/mpc-asks.ts'
import { type MpcWallet, withMpcStage, withPuppeteer } from '../support/mpc-stage.ts'
import { golden } from '../support/recorded-transactions.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const stage = await withMpcStage(t, { keys: [goldenShares(2, 3), goldenShares(2, 2)] })
const { service } = stage
const puppeteer = await withPuppeteer(t, stage)
const [wallet, fresh] = stage.wallets as [MpcWallet, MpcWallet]
const [hd] = (await service.makeWallets(1)) as [LoadWallet]
const login = (role: 'signer' | 'operator') => {
  const kernel = composeKernel({ ...service.kernel.config, databaseUrl: service.urlAs(role) }, 'attacker')
  t.after(() => kernel.close())
  return kernel
}
const signer = login('signer')
const operator = login('operator')

await service.stopWorker('signer')
const pending = await stage.send(wallet, '1')
const [first, second] = [await stage.send(fresh, '1'), await stage.send(fresh, '1')] as const
const hdPending = await stage.send(hd, '1')
await service.startWorker('signer')
await stage.until(hd, hdPending, 'submitted')
for (const [from, id] of [
  [wallet, pending],
  [fresh, first],
] as const)
  await stage.until(from, id, 'signed', 'submitted')
await stage.settle()
await service.stopWorker('signer')

async function stateOf(id: string) {
  const { state } = await service.kernel.log.load(transactionAggregate, id)
  if (state.state === 'unknown') throw new Error(`there is no ${id}`)
  return state
}

/** Appends an initial event with its row, in the name of a wallet that sent `like`. */
async function forge(by: Kernel, opening: Opening, like: string, changed: Partial<Intent>): Promise<string> {
  const { intent: known } = await stateOf(like)
  const bare = { ...known, to: known.from, amount: 0n, data: null, idempotency: null, subject: null, referenceId: null }
  const intent: Intent = { ...bare, ...changed, requestedAt: by.log.now() }
  const id = by.newId('transaction')
  const command = { type: 'RequestTransaction', opening, intent } as const
  const metadata = { tenantId: intent.tenantId, actor: 'worker:signer' }
  await by.log.append({
    decisions: [decideNew(transactionAggregate, id, command, { metadata, now: intent.requestedAt })],
  })
  return id
}

/** Appends bytes that nobody signed. */
async function forgeSignature(id: string, nonce: number, maxFeePerGas: bigint): Promise<void> {
  const loaded = await signer.log.load(transactionAggregate, id)
  const fees = { gasLimit: 21_000n, maxFeePerGas, maxPriorityFeePerGas: GWEI }
  const now = signer.log.now()
  const hash = `0x${nonce.toString(16).padStart(64, 'f')}`
  const signed = { nonce, hash, rawTransaction: '0x02f8', fees, signedAt: now }
  const metadata = { tenantId: 'acme', actor: 'worker:signer' }
  const forged = decideOn(transactionAggregate, loaded, { type: 'RecordSignature', signed }, { metadata, now })
  if (forged === null) throw new Error('the command produced no event')
  await signer.log.append({ decisions: [forged] })
}

const item = async (from: MpcWallet, id: string, transaction: UnsignedTransaction) =>
  signingItem(from, id, await tagAs(stage, id, transaction))
const ask = (items: readonly SigningItem[]) => askToSign(puppeteer, items)
const lastRule = () => stage.parties.lines.findLast(({ rule }) => rule !== undefined)?.rule

/** Neither party signs, for this reason. */
async function refuses(t: Test, asked: SigningItem, rule: RegExp, what: string): Promise<void> {
  t.strictSame(refusalKinds(await ask([asked])), [['not_covered'], ['not_covered']], what)
  t.match(lastRule(), rule, `${what}: ${lastRule()}`)
}

const stolen = { to: THIEF, amount: 9n * ETHER }
const theft = builtTransfer({ nonce: 1, to: THIEF, value: 9n * ETHER })
const anchor = { subject: { type: 'checkpoint', id: '3' }, data: String(golden('CheckpointAnchorRequested').data.data) }

t.test('parties sign no filler and no anchor that moves or calls anything', async (t) => {
  const filler = await forge(signer, 'NonceFillRequested', pending, stolen)
  await refuses(t, await item(wallet, filler, theft), /gap filler/, 'a filler with 9 ETH for the thief')
  const calling = await forge(signer, 'NonceFillRequested', pending, { data: '0xdeadbeef' })
  const { from } = (await stateOf(pending)).intent
  const empty = builtTransfer({ nonce: 1, to: from, value: 0n })
  const called = { ...empty, data: '0xdeadbeef', gasLimit: 50_000n }
  await refuses(t, await item(wallet, calling, called), /gap filler/, 'a filler with call data')
  const anchored = await forge(operator, 'CheckpointAnchorRequested', pending, { ...anchor, ...stolen })
  const noted = { ...theft, data: anchor.data, gasLimit: 50_000n }
  await refuses(t, await item(wallet, anchored, noted), /an anchor/, 'an anchor with 9 ETH for the thief')
})

t.test('no forged initial event makes a signer pay, and honest requests go on behind it', async (t) => {
  const forged: string[] = []
  for (const like of [hdPending, pending]) {
    forged.push(await forge(signer, 'NonceFillRequested', like, stolen))
    forged.push(await forge(operator, 'CheckpointAnchorRequested', like, { ...anchor, ...stolen }))
  }
  const idle = await forge(signer, 'NonceFillRequested', hdPending, {})
  await service.startWorker('signer')
  for (const id of forged)
    await eventually(() => service.lines.some(({ transaction_id, reason }) => transaction_id === id && reason))
  const honest = await stage.send(hd, '0.5')
  await stage.until(hd, honest, 'submitted')
  await service.stopWorker('signer')
  t.equal((await stateOf(honest)).attempts[0]?.nonce, 1, 'the next nonce goes to the honest request')
  matchExactly(
    t,
    await stateOf(idle),
    { state: 'failed', attempts: [], failure: { code: 'expired' } },
    'a filler without a gap ends unsigned',
  )
  for (const id of forged) matchExactly(t, await stateOf(id), { state: 'requested', attempts: [] })
  t.equal(BigInt(String(await stage.rpc('eth_getBalance', THIEF, 'latest'))), 0n)
})

t.test('forged signed bytes lift no limit of fees, gas or nonces', async (t) => {
  await service.stopWorker('chain-follower')
  const dear = await stage.send(wallet, '2')
  await forgeSignature(dear, 1, 225n * GWEI)
  const paid = builtTransfer({ nonce: 1, value: 2n * ETHER, maxFeePerGas: 450n * GWEI, maxPriorityFeePerGas: GWEI })
  await refuses(t, await item(wallet, dear, paid), /recorded bytes/, '450 gwei after forged bytes of 225')
  t.equal((await stateOf(second)).state, 'confirmed')
  const far = await stage.send(fresh, '1')
  await forgeSignature(far, 5_000, 2n * GWEI)
  const next = await stage.send(fresh, '3')
  const ahead = builtTransfer({ nonce: 5_001, value: 3n * ETHER })
  await refuses(t, await item(fresh, next, ahead), /far above/, 'nonce 5001 behind a forged one')
  const near = builtTransfer({ nonce: 2, value: 3n * ETHER })
  t.strictSame(
    refusalKinds(await ask([await item(fresh, next, near)])),
    [['signed'], ['signed']],
    'the next nonce is near',
  )
})

t.test('a filler is signed only below a signed nonce, and only a few for a wallet in an hour', async (t) => {
  const { from } = (await stateOf(pending)).intent
  const filling = (nonce: number) => builtTransfer({ nonce, to: from, value: 0n })
  const early = await forge(signer, 'NonceFillRequested', pending, {})
  await refuses(t, await item(wallet, early, filling(1)), /not a gap/, 'nothing waits for nonce 1')
  const later = await stage.send(wallet, '4')
  const top = MAX_FILLERS_AN_HOUR + 5
  const above = builtTransfer({ nonce: top, value: 4n * ETHER })
  t.strictSame(refusalKinds(await ask([await item(wallet, later, above)])), [['signed'], ['signed']])
  await refuses(t, await item(wallet, early, filling(top)), /not a gap/, 'the nonce of the transfer itself')
  await refuses(t, await item(wallet, early, { ...filling(1), gasLimit: 100_001n }), /gas/, 'more than 100,000 gas')
  for (let nonce = 1; nonce <= MAX_FILLERS_AN_HOUR; nonce += 1) {
    const id = nonce === 1 ? early : await forge(signer, 'NonceFillRequested', pending, {})
    const asked = { ...filling(nonce), gasLimit: nonce === 1 ? 100_000n : 21_000n }
    t.strictSame(refusalKinds(await ask([await item(wallet, id, asked)])), [['signed'], ['signed']], `nonce ${nonce}`)
  }
  const again = await item(wallet, early, { ...filling(1), gasLimit: 100_000n })
  t.strictSame(refusalKinds(await ask([again])), [['signed'], ['signed']], 'the same filler again is not another one')
  const last = await forge(signer, 'NonceFillRequested', pending, {})
  await refuses(t, await item(wallet, last, filling(top - 1)), /at most 16 fillers/, 'one more within the hour')
})

t.end()
