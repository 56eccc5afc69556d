/**
 * The parties have signed a transaction, and the signer died before it was in the log. If the transaction must fail since,
 * its nonce goes to the next one: the parties give it away once the log says that it has ended.
 */
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { goldenShares } from '../support/golden-shares.ts'
import { askToSign, builtTransfer, refusalKinds, signingItem, tagAs } from '../support/mpc-asks.ts'
import { type MpcWallet, withMpcStage, withPuppeteer } from '../support/mpc-stage.ts'

const VALID_MS = 4_000
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

t.end()
