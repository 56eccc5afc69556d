/**
 * An attacker who can write to the log and controls the coordinator: the parties use no edited event, no transaction
 * with an impossible order of events, and begin no ceremony that was not requested.
 */
import t from 'tap'
import { decideOn } from '../../src/event-log/aggregate.ts'
import type { SigningItem } from '../../src/keys/mpc/protocol.ts'
import type { UnsignedTransaction } from '../../src/keys/signer.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { TransactionEvent } from '../../src/transactions/all-events.ts'
import { goldenShares } from '../support/golden-shares.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { askToSign, builtTransfer, ETHER, refusalKinds, signingItem, THIEF, tagAs } from '../support/mpc-asks.ts'
import { type MpcWallet, withMpcStage, withPuppeteer } from '../support/mpc-stage.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const stage = await withMpcStage(t, { keys: [goldenShares(2, 3)] })
const puppeteer = await withPuppeteer(t, stage)
const [wallet] = stage.wallets as [MpcWallet]
const done = await stage.send(wallet, '1')
await stage.settle()
await stage.service.stopWorker('chain-follower')
await stage.service.stopWorker('signer')

const item = async (id: string, transaction: UnsignedTransaction) =>
  signingItem(wallet, id, await tagAs(stage, id, transaction))
const ask = (items: readonly SigningItem[], signers?: readonly number[]) => askToSign(puppeteer, items, signers)

/** Like an attacker who can append, with valid hashes. */
async function forge(id: string, events: readonly TransactionEvent[], rows: 'with rows' | 'without rows') {
  const { log } = stage.service.kernel
  const forging = { ...transactionAggregate, decide: () => events }
  const metadata = { tenantId: 'acme', actor: 'worker:chain-follower' }
  const loaded = await log.load(transactionAggregate, id)
  const forged = decideOn(
    forging,
    loaded,
    { type: 'RequestCancellation', now: log.now() },
    { metadata, now: log.now() },
  )
  if (forged === null) throw new Error('the command produced no event')
  const readModels = rows === 'with rows' ? forged.readModels : { rows: [], holds: [] }
  await log.append({ decisions: [{ ...forged, readModels }] })
}

const stateOf = async (id: string) => {
  const { state } = await stage.service.kernel.log.load(transactionAggregate, id)
  if (state.state === 'unknown') throw new Error(`there is no ${id}`)
  return state
}

/** As the superuser of a stolen `DATABASE_URL`. */
async function edit(streamId: string, data: object): Promise<void> {
  const { pool } = stage.service
  await pool.query('ALTER TABLE events DISABLE TRIGGER USER')
  await pool.query('UPDATE events SET data = data::jsonb || $2 WHERE stream_id = $1 AND stream_version = 1', [
    streamId,
    JSON.stringify(data),
  ])
  await pool.query('ALTER TABLE events ENABLE TRIGGER USER')
}

t.test('a finished transfer is not signed again, whatever events are forged behind its end', async (t) => {
  const { inclusion, attempts } = await stateOf(done)
  if (inclusion === null) throw new Error('the transfer is not mined')
  const { hash, blockNumber, blockHash } = inclusion
  const now = stage.service.kernel.log.now()
  await forge(
    done,
    [
      {
        type: 'SettlementRevoked',
        data: { outcome: 'confirmed', hash, blockNumber, blockHash, confirmations: 3, revokedAt: now },
      },
      { type: 'NonceConsumedExternally', data: { nonce: 0, finalizedBlock: blockNumber, foundAt: now } },
    ],
    'with rows',
  )
  matchExactly(
    t,
    await stateOf(done),
    { state: 'requested', attempts: [] },
    'the forged log shows the transfer as requested',
  )
  for (const signers of [
    [1, 2],
    [2, 3],
  ])
    t.strictSame(refusalKinds(await ask([await item(done, builtTransfer({ nonce: 1 }))], signers)), [
      ['not_covered'],
      ['not_covered'],
    ])
  await stage.service.startWorker('signer')
  const said = () => stage.service.lines.filter(({ transaction_id }) => transaction_id === done)
  await eventually(() =>
    said().some(({ reason }) => /used by (this transaction itself|a version of this transaction)/.test(String(reason))),
  )
  await stage.service.stopWorker('signer')
  t.equal((await stateOf(done)).abandoned.at(-1)?.hash, attempts.at(-1)?.hash, 'the signer does not sign it either')
})

t.test('an intent that was forged without its row, or after its end, is refused', async (t) => {
  const known = await stateOf(done)
  const alone = `${done.slice(0, -4)}aaaa`
  await forge(alone, [{ type: 'TransferRequested', data: { ...known.intent, to: THIEF } }], 'without rows')
  const stolen = await item(alone, builtTransfer({ nonce: 1, to: THIEF }))
  t.strictSame(
    refusalKinds(await ask([stolen])),
    [['not_covered'], ['not_covered']],
    'an intent without a row is not covered',
  )
  t.match(stage.parties.lines.findLast(({ rule }) => rule !== undefined)?.rule, /no row/)
  const failed = await stage.send(wallet, '3')
  const now = stage.service.kernel.log.now()
  await forge(
    failed,
    [
      { type: 'TransactionFailed', data: { code: 'expired', message: 'It was valid until then.', failedAt: now } },
      { type: 'NonceConsumedExternally', data: { nonce: 1, finalizedBlock: 1, foundAt: now } },
    ],
    'with rows',
  )
  const revived = await item(failed, builtTransfer({ nonce: 1, value: 3n * ETHER }))
  t.strictSame(
    refusalKinds(await ask([revived])),
    [['not_covered'], ['not_covered']],
    'a failed transfer is not covered',
  )
})

t.test('a transaction edited in the log or in its row is refused', async (t) => {
  const id = await stage.send(wallet, '4')
  const asked = await item(id, builtTransfer({ nonce: 1, value: 4n * ETHER }))
  const { pool } = stage.service
  await pool.query('UPDATE transactions SET to_address = $2 WHERE transaction_id = $1', [id, THIEF])
  t.strictSame(refusalKinds(await ask([asked])), [['not_covered'], ['not_covered']], 'the edited row is not covered')
  await edit(`transaction-${id}`, { to: THIEF })
  const stolen = await item(id, builtTransfer({ nonce: 1, value: 4n * ETHER, to: THIEF }))
  t.strictSame(
    refusalKinds(await ask([stolen])),
    [['not_covered'], ['not_covered']],
    'a matching edited event is refused',
  )
  await edit(`mpckey-${wallet.keyId}`, { threshold: 1 })
  await stage.parties.stop(1)
  await stage.parties.start(1)
  await eventually(() => puppeteer.reachable().includes(1))
  const good = await item(await stage.send(wallet, '5'), builtTransfer({ nonce: 1, value: 5n * ETHER }))
  t.strictSame(refusalKinds(await ask([good]))[0], ['key_unknown'], 'an edited key is unknown to the parties')
  await edit(`mpckey-${wallet.keyId}`, { threshold: 2 })
})

t.test('no key and no shares are made that the log does not request', async (t) => {
  const parties = [1, 2, 3]
  const generate = { ceremony: 'generate', keyId: 'mpk_unwanted', threshold: 2, parties } as const
  const refresh = {
    ceremony: 'refresh',
    keyId: wallet.keyId,
    refreshId: 'rfr_unwanted',
    parties,
    repaired: null,
  } as const
  const repair = { ceremony: 'repair', keyId: wallet.keyId, refreshId: 'rfr_x', target: 3, helpers: [1, 2] } as const
  for (const begin of [generate, refresh, repair]) {
    const answers = await puppeteer.ask(parties, begin, { timeoutMs: 60_000 })
    t.strictSame(refusalKinds(answers), [['not_covered'], ['not_covered'], ['not_covered']], begin.ceremony)
  }
  const said = stage.parties.lines.filter(({ msg }) =>
    /^refused a ceremony: the event log has no matching request/.test(msg),
  )
  t.equal(said.length, 9, 'every party logs each refusal')
})

t.end()
