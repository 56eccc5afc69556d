/**
 * An attacker with the database login of the API, or who changes read models, against a policy: the signer of hd wallets judges each
 * request again by the policy of the log, and signs nothing that it forbids.
 */
import t from 'tap'
import { bursarCommands } from '../../src/compose/bursar.ts'
import { composeKernel, type Kernel } from '../../src/compose/kernel.ts'
import { nativeAsset } from '../../src/core/assets.ts'
import type { Policy } from '../../src/core/policy.ts'
import type { Reservation } from '../../src/core/spend-limits.ts'
import { decideNew } from '../../src/event-log/aggregate.ts'
import { signatureAggregate } from '../../src/signatures/aggregate.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { Intent } from '../../src/transactions/intent.ts'
import { walletAggregate } from '../../src/wallets/aggregate.ts'
import { runCommandLine } from '../support/cli.ts'
import type { LoadWallet } from '../support/load.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { capRule, denyRule, recordedPolicy } from '../support/policies.ts'
import { publishTo } from '../support/published-policy.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { withStage } from '../support/service-stage.ts'

const THIEF = '0x000000000000000000000000000000000000dEaD'
const ETHER = 10n ** 18n
const stage = await withStage(t)
const { service } = stage
const { pool, kernel } = service
const ETH = nativeAsset('ethereum', 1_000_001)
const attacker = composeKernel({ ...kernel.config, databaseUrl: service.urlAs('api') }, 'attacker')
t.after(() => attacker.close())

const cap = capRule(ETH, 100n * ETHER, 3_600)
const frozen = denyRule('frozen', { walletTags: { in: ['frozen'] } })
const thief = denyRule('no-thief', { recipients: { in: [THIEF] } })
const silent = denyRule('no-messages', { actions: ['sign_message'] })
const publish = (policy: Policy) => publishTo(kernel.log, { tenantId: 'acme', environment: 'mainnet' }, policy)

const [payer, tagged] = (await service.makeWallets(2)) as [LoadWallet, LoadWallet]
await publish(recordedPolicy(cap, thief, frozen))
const first = await stage.send(payer, '1')
await stage.until(payer, first, 'submitted')
const ofTagged = await stage.send(tagged, '1')
await stage.until(tagged, ofTagged, 'submitted')

async function intentOf(id: string): Promise<Intent> {
  const { state } = await kernel.log.load(transactionAggregate, id)
  if (state.state === 'unknown') throw new Error(`there is no ${id}`)
  return state.intent
}

/** Appends a request as the API does, like an honest one but for these parts. */
async function forge(changed: Partial<Intent>, like = first): Promise<string> {
  const known = { ...(await intentOf(like)), idempotency: null, referenceId: null, ...changed }
  const { policy, reservations, ...others } = known
  const intent: Intent = { ...others, ...(policy && { policy }), ...(reservations && { reservations }) }
  const id = attacker.newId('transaction')
  const command = { type: 'RequestTransaction', opening: 'TransferRequested', intent } as const
  const metadata = { tenantId: 'acme', actor: 'apikey:key_1' }
  await attacker.log.append({
    decisions: [decideNew(transactionAggregate, id, command, { metadata, now: attacker.log.now() })],
  })
  return id
}

/** Why the signer did not sign, once per log line. */
const refusal = (id: string) =>
  service.lines.findLast(({ transaction_id, level, reason }) => transaction_id === id && level === 50 && reason)?.reason
/** Waits until the signer has refused all of these. */
async function reasonsFor(ids: readonly string[]): Promise<readonly string[]> {
  const reasons = await eventually(() => {
    const all = ids.map((id) => refusal(id))
    return all.every((reason) => reason !== undefined) ? all : null
  })
  return reasons.map(String)
}
/** What the metric of the signer that stopped last had counted. */
let mismatches = 0
async function countedIn({ metrics }: Kernel): Promise<number> {
  const text = await metrics.registry.getSingleMetricAsString('bursar_policy_mismatches_total')
  return Number(/^bursar_policy_mismatches_total\{.*\} (\d+)$/m.exec(text)?.[1])
}
/** The same of a signer that starts now, and stops then. */
async function refusalsOf(ids: readonly string[]): Promise<readonly string[]> {
  await service.startWorker('signer')
  const reasons = await reasonsFor(ids)
  mismatches = await countedIn(service.workerOf('signer'))
  await service.stopWorker('signer')
  return reasons
}

t.test('a request that an API process forged is not signed if the policy forbids it', async (t) => {
  const known = await intentOf(first)
  matchExactly(t, known.policy, { version: 1, tags: [] }, 'an honest request names the version')
  matchExactly(t, known.reservations, [{ rule: 'cap' }])
  const [one] = known.reservations as [Reservation]
  await service.stopWorker('signer')
  const earlier = new Date(Date.parse(one.bucket) - 2 * 3_600_000).toISOString()
  const lies: readonly (readonly [what: string, changed: Partial<Intent>, reason: RegExp])[] = [
    ['a recipient that a rule denies', { to: THIEF }, /forbids it, by its rule no-thief/],
    ['no reservations', { reservations: undefined } as never, /does not count towards the limit of the rule cap/],
    ['a smaller reservation', { reservations: [{ ...one, amount: 1n, kept: 0n }] }, /does not count/],
    ['a reservation of other hours', { reservations: [{ ...one, bucket: earlier }] }, /does not count/],
    ['a reservation of a higher limit', { reservations: [{ ...one, limit: 10n ** 30n }] }, /does not count/],
    ['a reservation that need not fit', { reservations: [{ ...one, mustFit: false }] }, /does not count/],
    ['a reservation on another counter', { reservations: [{ ...one, counter: 'mine' }] }, /does not count/],
  ]
  const ids: string[] = []
  for (const [, changed] of lies) ids.push(await forge(changed))
  const reasons = await refusalsOf(ids)
  for (const [n, [what, , reason]] of lies.entries()) t.match(reasons[n], reason, `${what}: ${reasons[n]}`)
  t.ok(mismatches >= lies.length, `the metric counts what is not signed: ${mismatches}`)
  for (const id of ids) t.match(await stage.read(payer, id), { state: 'requested', hash: null })

  const { findings } = JSON.parse((await runCommandLine(await bursarCommands(service.env), 'stuck --json')).out)
  for (const id of ids)
    t.ok(
      findings.some(({ kind, subject }: Record<string, string>) => kind === 'not_as_recorded' && subject?.includes(id)),
      `stuck names ${id}`,
    )
  await service.startWorker('signer')
  const honest = await stage.send(payer, '0.5')
  await stage.until(payer, honest, 'submitted')
})

t.test('a request cannot be of another hour than it was recorded in', async (t) => {
  const [one] = (await intentOf(first)).reservations as [Reservation]
  const earlier = new Date(Date.parse(one.bucket) - 2 * 3_600_000).toISOString()
  const id = await forge({ requestedAt: earlier, reservations: [{ ...one, bucket: earlier }] })
  t.match((await reasonsFor([id]))[0], /was recorded later/, 'a signer that runs meanwhile has noted the time')
})

t.test('changed rows of read models make no policy weaker: the signer reads the log', async (t) => {
  await service.stopWorker('signer')
  const metadata = { tenantId: 'acme', actor: 'apikey:key_1' }
  const revise = { type: 'Revise', revision: { tags: ['frozen'] }, now: kernel.log.now() } as const
  await kernel.log.execute(walletAggregate, tagged.id, revise, { metadata })
  const lies: { id: string; what: string; reason: RegExp }[] = []
  const lie = async (what: string, reason: RegExp, id: string) => lies.push({ what, reason, id })
  await pool.query(`UPDATE wallets SET tags = '{}' WHERE wallet_id = $1`, [tagged.id])
  await lie(
    'tags that the wallet has no more',
    /its tags \(\) are not those of its wallet \(frozen\)/,
    await forge({}, ofTagged),
  )

  await publish(recordedPolicy(cap, denyRule('nobody', { actions: ['transfer'] })))
  await pool.query(`UPDATE policies SET active_version = 1`)
  await lie('a version of before', /names version 1 of the policy, but the log had version 2/, await forge({}))
  await pool.query(`UPDATE policies SET active_version = 0`)
  await lie('no version', /names no policy, but the log had version 2/, await forge({ policy: undefined } as never))
  await pool.query(`UPDATE policies SET active_version = 2`)
  await pool.query(`UPDATE policy_versions SET policy = $1 WHERE policy_version = 2`, [
    JSON.stringify(recordedPolicy(cap)),
  ])
  const other = await service.startApi()
  const { status, body } = await other.insist({
    ...{ method: 'POST', path: `/v1/wallets/${payer.id}/transfer`, key: 'changed-rules', prefer: 'respond-async' },
    body: { to: THIEF, amount: '1', asset: 'ETH' },
  })
  t.equal(status, 202, 'the API judges by the changed row')
  await lie(
    'rules that the version does not have',
    /version 2 .* forbids it, by its rule nobody/,
    body.data.transaction_id,
  )

  const reasons = await refusalsOf(lies.map(({ id }) => id))
  for (const [n, { what, reason }] of lies.entries()) t.match(reasons[n], reason, `${what}: ${reasons[n]}`)
  for (const { id } of lies) t.match((await kernel.log.load(transactionAggregate, id)).state, { state: 'requested' })
})

t.test('a counter that was lowered is noticed', async (t) => {
  await publish(recordedPolicy(cap))
  const id = await stage.send(payer, '2')
  await pool.query(`UPDATE spend_buckets SET spent = 0`)
  t.match((await refusalsOf([id]))[0], /the counter of the rule cap has less than it reserves/)
})

t.test('a message that the policy forbids is not signed, whoever appended its request', async (t) => {
  const version = await publish(recordedPolicy(silent))
  const { body } = await service.api.insist({
    ...{ method: 'POST', path: `/v1/wallets/${payer.id}/sign/message`, key: 'refused', prefer: 'respond-async' },
    body: { message: 'I agree' },
  })
  matchExactly(t, body, { errors: [{ code: 'policy_denied', details: { rule: 'no-messages' } }] })
  const now = attacker.log.now()
  const place = {
    tenantId: 'acme',
    walletId: payer.id,
    network: 'ethereum',
    environment: 'mainnet',
    chainId: 1_000_001,
  } as const
  const policy = { version, tags: [], prices: [] }
  const data = {
    ...place,
    address: payer.address,
    digest: `0x${'11'.repeat(32)}`,
    message: '0x49',
    policy,
    requestedAt: now,
  }
  const requested = { type: 'MessageSignatureRequested', data } as const
  const metadata = { tenantId: 'acme', actor: 'apikey:key_1' }
  const decision = decideNew(
    signatureAggregate,
    'sig_forged',
    { type: 'RequestSignature', requested },
    { metadata, now },
  )
  await attacker.log.append({ decisions: [decision] })
  await service.startWorker('signer')
  const line = await eventually(() => service.lines.find(({ signature_id }) => signature_id === 'sig_forged'))
  t.match(line.reason, /forbids it, by its rule no-messages/)
  t.equal((await kernel.log.readStream(signatureAggregate, 'sig_forged')).length, 1)
})

t.end()
