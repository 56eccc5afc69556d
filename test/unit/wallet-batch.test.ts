/** A batch of wallets: what one request appends, and which indexes a chunk of them gets. */
import t from 'tap'
import type { Metadata } from '../../src/core/messages.ts'
import type { Accept, Prepared } from '../../src/event-log/accept.ts'
import { UniqueRuleBroken } from '../../src/event-log/append.ts'
import { KEY_RANGE_SIZE, keyIndexesAggregate, leftIn, needsRange } from '../../src/wallets/key-indexes.ts'
import { requestWallets, type WalletsRequest } from '../../src/wallets/request-wallets.ts'
import { matchExactly } from '../support/match-exactly.ts'

const NOW = '2026-11-21T12:00:00.000Z'
const METADATA: Metadata = { tenantId: 'acme', actor: 'test', idempotency: { key: 'k', fingerprint: 'f' } }
const wanted: WalletsRequest = {
  ...{ type: 'hd', network: 'ethereum', environment: 'mainnet', chainId: 1, mpc: null },
  tags: ['deposit'],
  items: [
    { label: 'A', externalId: 'customer-1' },
    { label: 'B', externalId: null },
    { label: 'B', externalId: null },
  ],
}

/** The context of a request, and the commits that it appends. @param fails what each append is refused with */
function context(fails: Error | null = null) {
  const appended: Prepared<unknown>[] = []
  let ids = 0
  const accept: Accept = (_metadata, attempt) =>
    attempt(
      async (prepared) => {
        if (fails !== null) throw fails
        appended.push(prepared)
        return { id: prepared.id, replayed: false, made: prepared.made }
      },
      async () => t.fail('a new batch always produces events') as never,
    )
  const rows = [{ signer: true, shareholders: true, wallet_id: 'wal_9', external_id: 'customer-1' }]
  const ctx = {
    accept,
    newId(kind: string) {
      ids += 1
      return `${kind}_${ids}`
    },
    log: { now: () => NOW },
    pool: { query: async () => ({ rows }) } as never,
    config: { mpc: null },
  }
  return { ctx, appended }
}

t.test('all wallets of a batch are one commit, in the order of the items, and name the batch', async (t) => {
  const { ctx, appended } = context()
  const { id } = await requestWallets(ctx, wanted, { metadata: METADATA })
  t.equal(appended.length, 1)
  const events = appended[0]?.commit.decisions.flatMap((decision) => decision.events) ?? []
  t.strictSame(
    events.map(({ type, streamId }) => `${streamId} ${type}`),
    ['wallet_2', 'wallet_3', 'wallet_4'].flatMap((wallet) => [
      `wallet-${wallet} WalletRequested`,
      `wallet-${wallet} WalletTagged`,
    ]),
  )
  for (const { canonical } of events) t.match(JSON.parse(canonical).metadata.idempotency, { key: 'k', resourceId: id })
  const rows = appended[0]?.commit.decisions.flatMap(({ readModels }) => readModels.rows.map(({ row }) => row)) ?? []
  matchExactly(t, rows, [
    { batch_id: id, label: 'A', external_id: 'customer-1', status: 'requested', address: null },
    { batch_id: id, label: 'B', external_id: null },
    { batch_id: id, label: 'B', external_id: null },
  ])
})

t.test('an external_id that two items have is refused for each further one, before anything is read', async (t) => {
  const { ctx, appended } = context()
  const items = ['a', 'b', 'a', 'a'].map((externalId) => ({ label: '', externalId }))
  const refused = await requestWallets(ctx, { ...wanted, items }, { metadata: METADATA }).catch((error) => error)
  t.strictSame(
    refused.items.map(({ code, field }: { code: string; field: string }) => [code, field]),
    [
      ['duplicate_external_id', 'items[2].external_id'],
      ['duplicate_external_id', 'items[3].external_id'],
    ],
  )
  t.strictSame(appended, [])
})

t.test('an external_id that another wallet has refuses the batch and names that wallet', async (t) => {
  const { ctx } = context(new UniqueRuleBroken('wallets_external_id_once'))
  const refused = await requestWallets(ctx, wanted, { metadata: METADATA }).catch((error) => error)
  t.match(refused, { code: 'external_id_taken', details: { wallets: { length: 1 } } })
  const other = context(new UniqueRuleBroken('another_rule'))
  await t.rejects(requestWallets(other.ctx, wanted, { metadata: METADATA }), { code: 'unique_rule_broken' })
})

t.test('a chunk of wallets gets consecutive indexes, and never more than the range has', async (t) => {
  const { decide, evolve, initialState } = keyIndexesAggregate
  const wallets = ['wal_1', 'wal_2', 'wal_3'].map((walletId, n) => ({ walletId, address: `0x${n}` }))
  const state = { ...initialState, next: 5 }
  const events = decide({ type: 'Allot', wallets, now: NOW }, state)
  matchExactly(
    t,
    events.map(({ data }) => data),
    wallets.map((wallet, n) => ({ ...wallet, index: 5 + n })),
  )
  t.equal(events.reduce(evolve, state).next, 8)
  const short = { ...initialState, next: KEY_RANGE_SIZE - 3 }
  t.equal(leftIn(short), 3)
  const full = decide({ type: 'Allot', wallets, now: NOW }, short).reduce(evolve, short)
  t.ok(needsRange(full, 0))
  t.notOk(needsRange(short, 0))
  t.throws(() => decide({ type: 'Allot', wallets, now: NOW }, { ...short, next: short.next + 1 }), /fewer indexes/)
})
