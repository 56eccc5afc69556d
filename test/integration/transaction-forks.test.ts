/**
 * A fork makes calls dearer between their acceptance and their block: what a lane signs, and what it replaces, on a real
 * PostgreSQL.
 */
import t, { type Test } from 'tap'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { newestAttempt } from '../../src/transactions/state.ts'
import { type LaneStage, withLane } from '../support/lane-stage.ts'
import { transferIntent } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'

const GWEI = 10n ** 9n
const ETHER = 10n ** 18n
const FORKED_AT = '2026-11-01T00:00:00.000Z'
const BEFORE = { requestedAt: '2026-10-31T23:00:00.000Z' }
const AFTER = { requestedAt: '2026-11-01T01:00:00.000Z' }
/** What a transfer to an account that does not exist needs since the fork. */
const NEW_ACCOUNT = { gasLimit: 207_391n, newAccount: 186_391n }
/** A mint held 120,000 before the fork, and needs this much since. */
const MINT = { data: '0x12345678', amount: 0n, reserved: { gasLimit: 120_000n, maxFeePerGas: 40n * GWEI } }
const MINT_NEEDS = 443_263n

async function forked(t: Test, balance: bigint): Promise<LaneStage> {
  const stage = await withLane(t, { balance })
  stage.meanwhile.forkSince = FORKED_AT
  return stage
}

t.test(
  'a transfer accepted before a fork is signed with what its new recipient costs, and its hold grows',
  async (t) => {
    const stage = await forked(t, ETHER)
    const id = await stage.accept(BEFORE)
    t.equal(await stage.held(), 21_000n * 40n * GWEI + 1_000n)
    stage.meanwhile.estimate = async (requests) => requests.map(() => ({ ok: true, ...NEW_ACCOUNT }))
    await stage.drain()
    t.equal(newestAttempt(await stage.read(id))?.fees.gasLimit, NEW_ACCOUNT.gasLimit)
    // Its tag lowers the price by a few thousand wei.
    t.ok((await stage.held()) > NEW_ACCOUNT.gasLimit * 39n * GWEI)
  },
)

t.test('one whose wallet cannot pay that fails unsigned, says why and blocks no nonce', async (t) => {
  const balance = 2n * 21_000n * 40n * GWEI + 2_000n
  const stage = await forked(t, balance)
  const poor = await stage.accept(BEFORE)
  const plain = await stage.accept({ ...BEFORE, to: transferIntent().from })
  stage.meanwhile.estimate = async (requests) =>
    requests.map(({ call, from }) => ({ ok: true, ...(call.to === from ? { gasLimit: 21_000n } : NEW_ACCOUNT) }))
  await stage.drain()
  const { state, failure } = await stage.read(poor)
  t.equal(state, 'failed')
  t.equal(failure?.code, 'insufficient_funds')
  t.match(failure?.message, /needs 207391 gas, of which 186391 create the account .* covers only 21000/)
  t.match(failure?.message, /the wallet lacks 0\.0\d+ ETH for it: fund the wallet, and send it again/)
  t.match(newestAttempt(await stage.read(plain)), { nonce: 0 })
})

t.test(
  'a mint accepted before a fork is signed with what it needs since, and one accepted after it is not',
  async (t) => {
    const stage = await forked(t, ETHER)
    const [before, after] = [await stage.accept({ ...MINT, ...BEFORE }), await stage.accept({ ...MINT, ...AFTER })]
    stage.meanwhile.estimate = async (requests) => requests.map(() => ({ ok: true, gasLimit: MINT_NEEDS }))
    await stage.drain()
    t.equal(newestAttempt(await stage.read(before))?.fees.gasLimit, MINT_NEEDS)
    t.match(await stage.read(after), { state: 'failed', failure: { code: 'fee_cap_exceeded' } })
  },
)

t.test('the call of a client gets no more for a fork than at other times: its contract is not ours', async (t) => {
  const stage = await forked(t, ETHER)
  const call = { abi: null, signature: null, errors: [] } as never
  const id = await stage.accept({ ...MINT, ...BEFORE, call })
  stage.meanwhile.estimate = async (requests) => requests.map(() => ({ ok: true, gasLimit: MINT_NEEDS }))
  await stage.drain()
  t.match(await stage.read(id), {
    state: 'failed',
    failure: { code: 'fee_cap_exceeded', message: /^A fork of the chain came at 2026-11-01T00:00:00.000Z, after/ },
  })
})

/** A transfer that was signed before the fork, sent, and has been in no block since. */
async function pending(stage: LaneStage): Promise<string> {
  const id = await stage.accept(BEFORE)
  await stage.drain()
  const hash = newestAttempt(await stage.read(id))?.hash ?? ''
  const command = { type: 'RecordSubmission', hash, now: stage.log.now() } as const
  await stage.log.execute(transactionAggregate, id, command, { metadata: { tenantId: 'acme', actor: 'test' } })
  await stage.pool.query("UPDATE transactions SET updated_at = now() - interval '10 minutes'")
  return id
}

t.test('bytes that a fork has left with too little gas are replaced under their nonce, once', async (t) => {
  const stage = await forked(t, ETHER)
  const id = await pending(stage)
  stage.meanwhile.neededGas = async ({ attempts }) =>
    attempts.at(-1)?.fees.gasLimit === NEW_ACCOUNT.gasLimit ? null : NEW_ACCOUNT.gasLimit
  await stage.drain()
  const { attempts } = await stage.read(id)
  matchExactly(
    t,
    attempts.map(({ nonce, purpose, fees }) => ({ nonce, purpose, gasLimit: fees.gasLimit })),
    [
      { nonce: 0, purpose: 'original', gasLimit: 21_000n },
      { nonce: 0, purpose: 'bump', gasLimit: NEW_ACCOUNT.gasLimit },
    ],
  )
  await stage.drain()
  t.equal((await stage.read(id)).attempts.length, 2)
})

t.test('where the wallet cannot pay for them they stay as they are until it is funded', async (t) => {
  const stage = await forked(t, 21_000n * 40n * GWEI + 1_000n)
  const id = await pending(stage)
  stage.meanwhile.neededGas = async () => NEW_ACCOUNT.gasLimit
  await stage.drain()
  t.equal((await stage.read(id)).attempts.length, 1)
  t.strictSame(stage.short, [id], 'its log line says that the balance is too low')
  await stage.pool.query(`UPDATE balances SET balance = ${ETHER}`)
  await stage.drain()
  t.equal(newestAttempt(await stage.read(id))?.fees.gasLimit, NEW_ACCOUNT.gasLimit)
})
