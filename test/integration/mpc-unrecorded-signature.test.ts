/**
 * The parties have signed a transaction, and the signer died before it was in the log. If the transaction must fail since,
 * its nonce goes to the next one: the parties give it away once the log says that it has ended.
 */
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { openSigningJournal } from '../../src/keys/mpc/signing-journal.ts'
import { goldenShares } from '../support/golden-shares.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { askToSign, builtTransfer, refusalKinds, signingItem, tagAs } from '../support/mpc-asks.ts'
import type { PartyPlace } from '../support/mpc-parties.ts'
import { type MpcWallet, withMpcStage, withPuppeteer } from '../support/mpc-stage.ts'

const VALID_MS = 4_000
/** More than the parties are asked for at once. */
const BATCH = 32
const stage = await withMpcStage(t, { keys: [goldenShares(2, 3)] })
const puppeteer = await withPuppeteer(t, stage)
const [wallet] = stage.wallets as [MpcWallet]
const { service } = stage

t.test('the transactions behind one that expired after the parties had signed it are signed', async (t) => {
  await service.stopWorker('signer')
  const validUntil = Date.now() + VALID_MS
  const { body } = await service.api.insist({
    method: 'POST',
    path: `/v1/wallets/${wallet.id}/transfer`,
    key: 'expires',
    prefer: 'respond-async',
    body: {
      to: builtTransfer({ nonce: 0 }).to,
      amount: '1',
      asset: 'ETH',
      valid_until: new Date(validUntil).toISOString(),
    },
  })
  const id = body.data.transaction_id
  const item = signingItem(wallet, id, await tagAs(stage, id, builtTransfer({ nonce: 0 })))
  t.strictSame(refusalKinds(await askToSign(puppeteer, [item])), [['signed'], ['signed']])
  await delay(validUntil - Date.now())
  const next = await stage.send(wallet, '2')
  await service.startWorker('signer')
  await stage.until(wallet, next, 'submitted')
  t.match(await stage.read(wallet, id), { state: 'failed', failure: { code: 'expired' } })
  t.match(await stage.read(wallet, next), { nonce: 0 })
})

t.test('a party that does not know who has a nonce is not bound to it by a request that another refuses', async (t) => {
  await service.stopWorker('signer')
  const nonce = Number(await stage.rpc('eth_getTransactionCount', wallet.address, 'pending'))
  const [one, other] = [await stage.send(wallet, '1'), await stage.send(wallet, '1')]
  const ask = async (id: string, at: number, signers: readonly number[]) => {
    const item = signingItem(wallet, id, await tagAs(stage, id, builtTransfer({ nonce: at })))
    return refusalKinds(await askToSign(puppeteer, [item], signers))
  }
  t.strictSame(await ask(one, nonce, [1, 2]), [['signed'], ['signed']])
  matchExactly(t, await ask(other, nonce, [1, 3]), [['nonce_claimed'], ['given_up']])
  t.strictSame(await ask(other, nonce + 1, [2, 3]), [['signed'], ['signed']], 'it helps with the next nonce')
  await service.startWorker('signer')
  for (const [index, id] of [one, other].entries())
    t.match(await stage.until(wallet, id, 'submitted'), { nonce: nonce + index })
})

t.test('a nonce that the parties gave to a transaction far behind the others is used for it', async (t) => {
  await service.stopWorker('signer')
  const before = []
  for (let count = 0; count < BATCH + 1; count += 1) before.push(await stage.send(wallet, '0.001'))
  const last = await stage.send(wallet, '1')
  const nonce = Number(await stage.rpc('eth_getTransactionCount', wallet.address, 'pending'))
  const item = signingItem(wallet, last, await tagAs(stage, last, builtTransfer({ nonce })))
  t.strictSame(refusalKinds(await askToSign(puppeteer, [item])), [['signed'], ['signed']])
  await service.startWorker('signer')
  t.match(await stage.until(wallet, last, 'submitted'), { nonce })
  for (const id of before) await stage.until(wallet, id, 'submitted')
  await stage.settle()
})

t.test('a transaction that a party bound to a nonce which others used stops none behind it', async (t) => {
  const nonce = Number(await stage.rpc('eth_getTransactionCount', wallet.address, 'pending'))
  await stage.parties.stop(1)
  await stage.until(wallet, await stage.send(wallet, '0.002'), 'submitted')
  await service.stopWorker('signer')
  const bound = await stage.send(wallet, '0.003')
  // As after a session that ended before another party claimed the nonce.
  const { directory } = stage.parties.places[0] as PartyPlace
  const journal = await openSigningJournal({
    directory,
    requireOwner: async () => undefined,
    log: { warn: () => undefined },
  })
  await journal.claim([{ transactionId: bound, chainId: 1_000_001, address: wallet.address, nonce }])
  await journal.close()
  await stage.parties.start(1)
  await stage.parties.stop(3)
  const next = await stage.send(wallet, '0.004')
  await service.startWorker('signer')
  await stage.until(wallet, next, 'submitted')
  await stage.until(wallet, await stage.send(wallet, '0.005'), 'submitted')
  t.match(await stage.read(wallet, bound), { state: 'requested' }, 'the two parties never sign it together')
  await stage.parties.start(3)
  await stage.until(wallet, bound, 'submitted')
  await stage.settle()
  t.match(await stage.read(wallet, next), { state: 'confirmed' })
})

t.end()
