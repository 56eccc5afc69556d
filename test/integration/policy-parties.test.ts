/**
 * Parties judge each request again by the policy of the log, through their own connections, and add up what they help to spend: neither a
 * stolen login of the API nor the coordinator gets a signature that the policy forbids.
 */
import t, { type Test } from 'tap'
import { composeKernel } from '../../src/compose/kernel.ts'
import { nativeAsset } from '../../src/core/assets.ts'
import { decideNew } from '../../src/event-log/aggregate.ts'
import { signatureAggregate } from '../../src/signatures/aggregate.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { Intent } from '../../src/transactions/intent.ts'
import { goldenShares } from '../support/golden-shares.ts'
import { askToSign, builtTransfer, ETHER, refusalKinds, signingItem, THIEF, tagAs } from '../support/mpc-asks.ts'
import { type MpcWallet, withMpcStage, withPuppeteer } from '../support/mpc-stage.ts'
import { capRule, denyRule, recordedPolicy } from '../support/policies.ts'
import { publishTo } from '../support/published-policy.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const stage = await withMpcStage(t, { keys: [goldenShares(2, 3)] })
const { service } = stage
const { kernel, pool } = service
const puppeteer = await withPuppeteer(t, stage)
const [wallet] = stage.wallets as [MpcWallet]
const ETH = nativeAsset('ethereum', 1_000_001)
const attacker = composeKernel({ ...kernel.config, databaseUrl: service.urlAs('api') }, 'attacker')
t.after(() => attacker.close())

const policy = recordedPolicy(
  capRule(ETH, (5n * ETHER) / 2n, 86_400),
  denyRule('no-thief', { recipients: { in: [THIEF] } }),
  denyRule('silent', { actions: ['sign_message'] }),
)

// From here on accepted requests wait for a signature, and only the test requests it.
await service.stopWorker('signer')
const version = await publishTo(kernel.log, { tenantId: 'acme', environment: 'mainnet' }, policy)
const first = await stage.send(wallet, '1')

async function intentOf(id: string): Promise<Intent> {
  const { state } = await kernel.log.load(transactionAggregate, id)
  if (state.state === 'unknown') throw new Error(`there is no ${id}`)
  return state.intent
}

async function forge(changed: Partial<Intent>): Promise<string> {
  const known = { ...(await intentOf(first)), idempotency: null, referenceId: null, ...changed }
  const { policy: part, reservations, ...others } = known
  const intent: Intent = { ...others, ...(part && { policy: part }), ...(reservations && { reservations }) }
  const id = attacker.newId('transaction')
  const command = { type: 'RequestTransaction', opening: 'TransferRequested', intent } as const
  const metadata = { tenantId: 'acme', actor: 'apikey:key_1' }
  const now = attacker.log.now()
  await attacker.log.append({ decisions: [decideNew(transactionAggregate, id, command, { metadata, now })] })
  return id
}

const lastRule = () => stage.parties.lines.findLast((line) => line.rule !== undefined)?.rule
const ask = async (id: string, nonce: number, to?: string, signers: readonly number[] = [1, 2]) => {
  const transaction = builtTransfer(to === undefined ? { nonce } : { nonce, to })
  return refusalKinds(
    await askToSign(puppeteer, [signingItem(wallet, id, await tagAs(stage, id, transaction))], signers),
  )
}
async function refuses(t: Test, answers: string[][], reason: RegExp, what: string): Promise<void> {
  t.strictSame(answers, [['not_covered'], ['not_covered']], what)
  t.match(lastRule(), reason, `${what}: ${lastRule()}`)
}

t.test('no party signs what the policy of the log forbids', async (t) => {
  const thief = await forge({ to: THIEF })
  await refuses(t, await ask(thief, 0, THIEF), /forbids it, by its rule no-thief/, 'a recipient that a rule denies')
  const uncounted = await forge({ reservations: undefined } as never)
  await refuses(t, await ask(uncounted, 0), /does not count towards the limit of the rule cap/, 'no reservations')
  await pool.query('UPDATE policies SET active_version = 0')
  const unjudged = await forge({ policy: undefined, reservations: undefined } as never)
  await pool.query('UPDATE policies SET active_version = $1', [version])
  await refuses(t, await ask(unjudged, 0), /names no policy, but the log had version 1/, 'no policy')
})

t.test('no party signs a message that the policy forbids', async (t) => {
  const now = attacker.log.now()
  const { network, environment, chainId, walletId, from: address } = await intentOf(first)
  const place = { tenantId: 'acme', walletId, network, environment, chainId, address, requestedAt: now }
  const data = { ...place, digest: `0x${'11'.repeat(32)}`, message: '0x49', policy: { version, tags: [], prices: [] } }
  const requested = { type: 'MessageSignatureRequested', data } as const
  const metadata = { tenantId: 'acme', actor: 'apikey:key_1' }
  const decision = decideNew(
    signatureAggregate,
    'sig_forged',
    { type: 'RequestSignature', requested },
    { metadata, now },
  )
  await attacker.log.append({ decisions: [decision] })
  const subject = { kind: 'message', message: Buffer.from('I') } as const
  const item = {
    ...signingItem(wallet, 'sig_forged', subject),
    intent: { kind: 'signature', id: 'sig_forged' },
  } as const
  await refuses(t, refusalKinds(await askToSign(puppeteer, [item])), /forbids it, by its rule silent/, 'a message')
})

t.test('parties add up what they have signed themselves, whatever the counters of the database say', async (t) => {
  t.strictSame(await ask(first, 0), [['signed'], ['signed']])
  await pool.query('DELETE FROM spend_buckets')
  const second = await stage.send(wallet, '1')
  t.strictSame(await ask(second, 1), [['signed'], ['signed']])
  t.strictSame(await ask(second, 1), [['signed'], ['signed']], 'the same one again counts once')
  await pool.query('DELETE FROM spend_buckets')
  const third = await stage.send(wallet, '1')
  await refuses(t, await ask(third, 2), /has helped to spend what a limit of the policy allows/, 'more than the limit')
  for (const number of [1, 2]) {
    await stage.parties.stop(number)
    await stage.parties.start(number)
  }
  await eventually(() => puppeteer.channel.connected().length === 3)
  await refuses(t, await ask(third, 2), /has helped to spend/, 'after a restart of the parties')
  const kinds = (await ask(third, 2, undefined, [2, 3])).flat()
  t.ok(kinds.includes('not_covered'), `with one that has room, the party that has none refuses: ${kinds}`)
})

t.end()
