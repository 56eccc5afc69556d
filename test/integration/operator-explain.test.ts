/** The whole history of a transaction, shown from a real log: decisions, their inputs, and outcomes. */
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { apiKeyAggregate } from '../../src/access/aggregate.ts'
import type { ApiKeyIssued, ApiKeyRevoked } from '../../src/access/events.ts'
import { keyLimitAggregate } from '../../src/access/limit-aggregate.ts'
import type { ApiKeyLimitReached } from '../../src/access/limit-events.ts'
import { balanceAggregate } from '../../src/balances/aggregate.ts'
import { newId } from '../../src/compose/new-id.ts'
import type { Event } from '../../src/core/messages.ts'
import { type Aggregate, decideOn } from '../../src/event-log/aggregate.ts'
import { chainAggregate } from '../../src/follower/aggregate.ts'
import { mintAggregate } from '../../src/nft/tokens/mint-aggregate.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { walletAggregate } from '../../src/wallets/aggregate.ts'
import { NATIVE } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { hashOf, KEY_ID, type OperatorStage, REQUESTED_BY, signature, withOperator } from '../support/operator-stage.ts'

const GWEI = 1_000_000_000n
const QUOTE = { baseFeePerGas: 5n * GWEI, maxFeePerGas: 12n * GWEI, maxPriorityFeePerGas: 2n * GWEI }

type Told = { readonly name: string; readonly value: string; readonly source: string }
type Story = {
  readonly story: readonly {
    readonly event: string
    readonly who: string
    readonly text: string
    readonly details: readonly Told[]
  }[]
  readonly now: { readonly state: string; readonly says: string; readonly next: readonly { readonly say: string }[] }
  readonly depends_on: { readonly id: string } | null
  readonly dependents: readonly { readonly id: string }[]
}

t.test('explain', async (t) => {
  const stage = await withOperator(t)
  const { pool, run } = stage
  await labelKey(pool)
  const wallet = await stage.wallet()
  await observe(stage, wallet.walletId, 10n ** 18n)
  const other = await stage.request(wallet, { amount: 5_000n, reserved: { gasLimit: 21_000n, maxFeePerGas: 1n } })
  const id = await stage.request(wallet, {
    quote: QUOTE,
    referenceId: 'invoice-1',
    subject: { type: 'mint', id: 'mint_1' },
  })
  await observe(stage, wallet.walletId, 7n)
  const dependent = await stage.request(wallet, { dependsOn: id })
  const tell = async (what: string): Promise<Story> => JSON.parse((await run(`explain ${what} --json`)).out)

  await t.test(
    'explain shows the caller and the basis of the acceptance, recorded or derived from the log',
    async (t) => {
      const story = await tell(id)
      matchExactly(t, story.story, [{ event: 'TransferRequested', who: `API key "payroll" ${KEY_ID} of tenant acme` }])
      const facts = Object.fromEntries(
        story.story[0]?.details.map(({ name, value, source }) => [name, [value, source]]) ?? [],
      )
      matchExactly(t, facts, {
        'request id': ['req_1', 'recorded'],
        'idempotency key': ['invoice-1042', 'recorded'],
        reference: ['invoice-1', 'recorded'],
        serves: ['mint mint_1', 'recorded'],
        'fee quote': ['base fee 5 gwei, tip 2 gwei, at most 12 gwei, priority medium', 'recorded'],
        'held back': [/0\.000000000000001 ETH, and 0\.000000000000042 ETH for 21000 gas/, 'recorded'],
        'balance then': [/^1 ETH at block 1, of which 0\.000000000000026 ETH was held by other requests$/, 'derived'],
      })
      matchExactly(t, story.dependents, [{ id: dependent }])
      t.match(await tell(dependent), { depends_on: { id }, now: { says: new RegExp(`waits for ${id}`) } })
      t.match(detail(await tell(other), 0, 'fee quote')?.value, /not recorded/)
    },
  )

  await t.test('explain shows the limits of an API key that were reached, with what happened to the key', async (t) => {
    const keyId = newId('apiKey')
    const [issued, reached] = [
      golden<ApiKeyIssued>('ApiKeyIssued.v2'),
      golden<ApiKeyLimitReached>('ApiKeyLimitReached.v1'),
    ]
    await record(stage, apiKeyAggregate, keyId, issued)
    await record(stage, keyLimitAggregate, keyId, reached)
    await record(stage, apiKeyAggregate, keyId, golden<ApiKeyRevoked>('ApiKeyRevoked.v2'))
    const { story } = await tell(keyId)
    matchExactly(t, story, [
      { event: 'ApiKeyIssued' },
      { event: 'ApiKeyLimitReached', text: 'refused a request for 110.5 USD: 80 were left of 1000 in 86400 s' },
      { event: 'ApiKeyRevoked' },
    ])
  })
  await wholeLife(t, stage, id)
  await lookUps(t, stage, { id, other, dependent, walletId: wallet.walletId })
})

function golden<Evt extends Event>(name: string): Evt {
  return JSON.parse(readFileSync(new URL(`../golden/events/${name}.json`, import.meta.url), 'utf8'))
}

function detail(story: Story, step: number, name: string): Told | undefined {
  return story.story[step]?.details.find((one) => one.name === name)
}

async function wholeLife(t: Test, stage: OperatorStage, id: string): Promise<void> {
  const { log, run, execute } = stage
  await t.test('explain shows each hash with its purpose, each block, each reorg, and the durations', async (t) => {
    await execute(id, { ...signature(id, 0, 12n * GWEI, log.now()), quote: QUOTE })
    await execute(id, { type: 'RecordSubmission', hash: hashOf(id, 0), now: log.now() })
    const dearer = { ...signature(id, 0, 20n * GWEI, log.now()).signed, hash: hashOf(id, 9) }
    await execute(id, { type: 'RequestSpeedUp', gasPriority: 'high', now: log.now() })
    await execute(id, { type: 'RecordReplacement', signed: dearer, purpose: 'speed_up', quote: QUOTE })
    await execute(id, { type: 'RecordInclusion', inclusion: inclusion(hashOf(id, 0), 99, log.now()) })
    await reorg(stage, id)
    await execute(id, { type: 'RecordInclusion', inclusion: inclusion(hashOf(id, 9), 100, log.now()) })
    const story = JSON.parse((await run(`explain ${id} --json`)).out) as Story
    t.strictSame(
      story.story.map(({ event }) => event),
      [
        'TransferRequested',
        'TransactionSigned',
        'TransactionSubmitted',
        'SpeedUpRequested',
        'TransactionReplaced',
        'TransactionMined',
        'TransactionReorged',
        'TransactionMined',
      ],
    )
    t.match(detail(story, 1, 'fee quote')?.value, /base fee 5 gwei/)
    t.match(detail(story, 2, 'hash')?.value, /\(original\)$/)
    t.match(detail(story, 4, 'hash')?.value, `${hashOf(id, 9)} (speed_up)`)
    t.match(detail(story, 5, 'hash')?.value, /\(original\)$/, 'the mined hash is that of the original version')
    t.match(detail(story, 6, 'reorg'), { value: '3 blocks, from block 101 back to 98', source: 'derived' })
    t.match(detail(story, 7, 'hash')?.value, /\(speed_up\)$/)
    matchExactly(t, story.now, {
      state: 'mined',
      says: /1 of 2 confirmations/,
      next: [{ say: 'Wait for 1 block more.' }],
    })
    const { code, out } = await run(`explain ${id}`)
    t.equal(code, 0)
    t.match(out, /… .* until it was signed\n.*signed with nonce 0/)
    t.match(out, /now {2}mined \(pending\) for/)
  })
}

type Known = Readonly<Record<'id' | 'other' | 'dependent' | 'walletId', string>>

async function lookUps(t: Test, stage: OperatorStage, { id, other, dependent, walletId }: Known): Promise<void> {
  const { run, node } = stage
  const tell = async (what: string): Promise<Story> => JSON.parse((await run(`explain ${what} --json`)).out)

  await t.test('explain takes a hash of any version and a wallet, and refuses other ids', async (t) => {
    t.match(await tell(hashOf(id, 0)), { transaction_id: id }, 'the hash of a replaced version is found')
    await record(stage, walletAggregate, walletId, { type: 'WalletArchived', data: { archivedAt: stage.log.now() } })
    matchExactly(t, JSON.parse((await run(`explain ${walletId} --json`)).out), {
      of: `wallet ${walletId}`,
      story: [{ event: 'WalletArchived', who: `API key "payroll" ${KEY_ID} of tenant acme`, text: 'archived' }],
      transactions: [{ id: dependent }, { id }, { id: other }],
    })
    const refused: [string, RegExp][] = [
      ['nonsense', /neither an id .* nor the hash/],
      [newId('transaction'), /There is no transaction tx_/],
      [newId('wallet'), /There is no wallet wal_/],
      [newId('collection'), /There is no collection col_/],
      [newId('mint'), /There is no mint mint_/],
      [newId('signature'), /There is no signature sig_/],
      [newId('transferBatch'), /There is no batch of transfers batch_/],
      [`0x${'a'.repeat(64)}`, /Bursar never signed a transaction with the hash 0xaaa/],
    ]
    for (const [what, why] of refused) t.match(await run(`explain ${what}`), { code: 2, out: '', err: why }, what)
  })

  await t.test('a mint is reported with its events and its transactions', async (t) => {
    const mintId = newId('mint')
    const signed = { type: 'VoucherSigned', data: { signature: '0x', signedAt: stage.log.now() } } as const
    await record(stage, mintAggregate, mintId, signed)
    const { out } = await run(`explain ${mintId}`)
    t.match(out, /voucher signed/)
    t.notMatch(out, /Its transactions/)
    const own = await stage.request(await stage.wallet(), { subject: { type: 'mint', id: mintId } })
    t.match((await run(`explain ${mintId}`)).out, new RegExp(`npm run bursar -- explain ${own}`))
  })

  await t.test('a batch of transfers is reported with its caller and its transactions', async (t) => {
    const batchId = newId('transferBatch')
    const subject = { type: 'transfer_batch', id: batchId }
    const wallet = await stage.wallet()
    const first = await stage.request(wallet, { subject })
    const second = await stage.request(wallet, { subject })
    matchExactly(t, JSON.parse((await run(`explain ${batchId} --json`)).out), {
      of: `batch of transfers ${batchId}`,
      story: [{ who: `API key "payroll" ${KEY_ID} of tenant acme`, text: 'A batch of transfers was accepted' }],
      transactions: [{ id: second }, { id: first }],
    })
  })

  await t.test('explain works without a node', async (t) => {
    node.up = false
    t.match(await run(`explain ${dependent}`), {
      code: 3,
      out: /accepted: TRANSFER/,
      err: /No node of ethereum answers/,
    })
    node.up = true
  })
}

async function labelKey(pool: OperatorStage['pool']): Promise<void> {
  await pool.query(
    `INSERT INTO api_keys (key_id, tenant_id, environment, label, digest, scopes, grants, ip_allowlist, limits, status, created_at, updated_at, version)
       VALUES ($1, 'acme', 'mainnet', 'payroll', 'digest', '{*}', '{*}', '{}', '[]', 'active', now(), now(), 1)`,
    [KEY_ID],
  )
}

/** The follower observed a balance. */
async function observe(stage: OperatorStage, walletId: string, balance: bigint): Promise<void> {
  await record(stage, balanceAggregate, walletId, {
    type: 'BalanceChanged',
    data: {
      asset: NATIVE,
      balance: balance.toString(),
      blockNumber: 1,
      blockHash: '0x',
      cause: 'block',
      observedAt: stage.log.now(),
    },
  })
}

/** Appends an event without the rows that follow from it: the stage has its own rows, and only the event is needed. */
async function record<State, Evt extends Event>(
  { log }: OperatorStage,
  aggregate: Aggregate<State, never, Evt>,
  id: string,
  event: Evt,
): Promise<void> {
  const recording = { ...aggregate, decide: () => [event] }
  const context = { metadata: REQUESTED_BY, now: log.now() }
  const recorded = decideOn(recording, await log.load(aggregate, id), undefined as never, context)
  await log.append({ decisions: recorded === null ? [] : [{ ...recorded, readModels: { rows: [], holds: [] } }] })
}

/** One commit undoes the block and records the reorg, like the follower's. */
async function reorg({ log }: OperatorStage, id: string): Promise<void> {
  const loaded = await log.load(transactionAggregate, id)
  const unwound = decideOn(
    transactionAggregate,
    loaded,
    { type: 'RecordReorg', head: 98, now: log.now() },
    { metadata: REQUESTED_BY, now: log.now() },
  )
  const fact = {
    type: 'ReorgDetected',
    data: {
      from: { number: 101, hash: '0x' },
      ancestor: { number: 98, hash: '0x' },
      depth: 3,
      beyondWindow: false,
      detectedAt: log.now(),
    },
  } as const
  const chain = await log.load(chainAggregate, 'ethereum-mainnet')
  const told = decideOn(chainAggregate, chain, fact, { metadata: REQUESTED_BY, now: log.now() })
  await log.append({ decisions: [unwound, told].flatMap((one) => one ?? []) })
}

function inclusion(hash: string, blockNumber: number, now: string) {
  return {
    hash,
    blockNumber,
    blockHash: `0xb${blockNumber}`,
    succeeded: true,
    logs: null,
    gasUsed: 21_000n,
    effectiveGasPrice: 5n * GWEI,
    blockTimestamp: now,
    minedAt: now,
  }
}
