/**
 * A tenant with the help of a signer's database login, against the mpc wallet of another tenant: `WalletCreated` names
 * the victim's key for the thief's own wallet. Neither a party nor the signer uses the key for it.
 */
import t from 'tap'
import { createIssueApiKey } from '../../src/access/issue-api-key.ts'
import { newId } from '../../src/compose/new-id.ts'
import { mpcKeyAggregate } from '../../src/mpc-wallets/aggregate.ts'
import { walletAggregate } from '../../src/wallets/aggregate.ts'
import { createClient } from '../support/client.ts'
import { forge, logOf } from '../support/forge.ts'
import { goldenShares } from '../support/golden-shares.ts'
import { askToSign, builtTransfer, refusalKinds, signingItem, THIEF, tagAs } from '../support/mpc-asks.ts'
import { type MpcWallet, withMpcStage, withPuppeteer } from '../support/mpc-stage.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { onChain, RECIPIENT } from '../support/service-stage.ts'

const AT = '2026-01-01T00:00:00.000Z'
const GLOBEX = { tenantId: 'globex', actor: 'worker:signer' }
const NOT_COVERED = [['not_covered'], ['not_covered']]

const stage = await withMpcStage(t, { keys: [goldenShares(2, 3)] })
const puppeteer = await withPuppeteer(t, stage)
const { service } = stage
const [victim] = stage.wallets as [MpcWallet]
const signersLog = logOf(t, service.urlAs('signer'), service.kernel.wakeUps)
const globex = { tenantId: 'globex', environment: 'mainnet' } as const
const { token } = await createIssueApiKey(service.kernel)(globex, { actor: 'operator' })
const api = createClient(service.baseUrl, token)
const { state: key } = await service.kernel.log.load(mpcKeyAggregate, victim.keyId)
if (key.status === 'unknown') throw new Error('the victim has a key')
const { publicKey, address, threshold, parties } = key

/** A wallet of the thief's tenant, which waits for its key and gets that of the victim. */
async function stolenWallet(): Promise<string> {
  const id = newId('wallet')
  const place = { network: 'ethereum', environment: 'mainnet', chainId: 1_000_001 } as const
  const terms = { type: 'mpc', label: 'thief', externalId: null, mpc: { threshold: 2, parties: 3 } } as const
  const requested = { type: 'WalletRequested', data: { ...place, ...terms, requestedAt: AT } } as const
  await forge(service.kernel.log, walletAggregate, id, [requested], { metadata: GLOBEX })
  const stolen = {
    address,
    key: { kind: 'mpc', keyId: victim.keyId },
    derivationPath: null,
    createdAt: AT,
    publicKey,
    threshold,
    parties: parties.length,
  } as const
  await forge(signersLog, walletAggregate, id, [{ type: 'WalletCreated', data: stolen }], { metadata: GLOBEX })
  return id
}

/** The id of a transfer that the API accepts as soon as the balance of the address is observed for this wallet too. */
const acceptedTransfer = (walletId: string) =>
  eventually(async () => {
    await stage.mine()
    const reply = await api.insist({
      method: 'POST',
      path: `/v1/wallets/${walletId}/transfer`,
      key: 'steal',
      prefer: 'respond-async',
      body: { to: THIEF, amount: '1', asset: 'ETH' },
    })
    return reply.status === 202 ? (reply.body.data.transaction_id as string) : undefined
  })

t.test("the key of another tenant's wallet signs nothing for a wallet that merely names it", async (t) => {
  await service.stopWorker('signer')
  const thief = await stolenWallet()
  const { body } = await api.insist({ path: `/v1/wallets/${thief}` })
  t.equal(body.data.address, victim.address, 'the API shows the address of the victim')
  const stealing = await acceptedTransfer(thief)
  const item = signingItem(victim, stealing, await tagAs(stage, stealing, builtTransfer({ to: THIEF })))
  const ask = async () => refusalKinds(await askToSign(puppeteer, [item]))
  t.strictSame(await ask(), NOT_COVERED, 'the parties refuse')
  const reason = new RegExp(`assigns to wallet ${victim.id}`)
  t.match(stage.parties.lines.findLast(({ rule }) => rule !== undefined)?.rule, reason)
  const assigned = { type: 'MpcKeyAssigned', data: { walletId: thief, tenantId: 'globex', assignedAt: AT } } as const
  await forge(signersLog, mpcKeyAggregate, victim.keyId, [assigned], { metadata: GLOBEX })
  t.strictSame(await ask(), NOT_COVERED, 'also after the key was assigned again')
  const generated = { publicKey, address, threshold, parties, generatedAt: AT }
  const anew = [{ type: 'MpcKeyGenerated', data: generated } as const, assigned]
  await forge(signersLog, mpcKeyAggregate, victim.keyId, anew, { metadata: GLOBEX })
  t.strictSame(await ask(), NOT_COVERED, 'also after it was created again')
  await service.startWorker('signer')
  const said = () => service.lines.find((line) => line.transaction_id === stealing && line.reason)
  t.match((await eventually(said))?.reason, reason, 'the signer says why')
})

t.test('the wallet that has the key still signs, and nothing else was sent', async (t) => {
  const own = await stage.send(victim, '1')
  await stage.until(victim, own, 'submitted')
  await stage.mine()
  const sent = (await onChain(stage, victim)).map(({ to }) => to)
  t.strictSame(sent, [RECIPIENT])
})

t.end()
