/** NFTs under a policy, over HTTP: mints of one, of a batch and by a voucher, and transfers are judged by what they do. */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import type { LoadWallet } from '../support/load.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { STRANGER, type StagedCollection, withNftStage } from '../support/nft-stage.ts'
import { publishOver } from '../support/published-policy.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const HOUR = 3_600

const stage = await withNftStage(t)
const { service, ask, collection, mint, settle, owners } = stage
const { api, pool } = service
const [free, denied, limited] = (await service.makeWallets(3)) as [LoadWallet, LoadWallet, LoadWallet]
type Place = { readonly wallet: LoadWallet; readonly collection: StagedCollection }
const placeOf = async (wallet: LoadWallet): Promise<Place> => ({ wallet, collection: await collection(wallet) })
const [allowed, refused, capped] = [await placeOf(free), await placeOf(denied), await placeOf(limited)]
// Each wallet holds two tokens of its own collection.
for (const { wallet, collection } of [allowed, refused, capped])
  for (let n = 0; n < 2; n += 1) await mint(collection, wallet.address)
await settle()
for (const { collection } of [allowed, refused, capped])
  await eventually(async () => (await owners(collection)).length === 2)

const metadata = { name: 'One', image: 'https://example.com/1.png' }
type Case = {
  readonly what: string
  readonly action: string
  readonly path: string
  readonly body: (place: Place) => object
}
const minted = ({ collection }: Place, body: object) => ({ collection_id: collection.id, ...body })
const CASES: readonly Case[] = [
  {
    ...{ what: 'a mint', action: 'nft_mint', path: '/v1/nft/mint' },
    body: (place) => minted(place, { recipient: STRANGER, metadata }),
  },
  {
    ...{ what: 'a batch of mints', action: 'nft_mint', path: '/v1/nft/mint' },
    body: (place) =>
      minted(place, {
        minting_type: 'BATCH',
        items: [STRANGER, place.wallet.address].map((recipient) => ({ recipient, metadata })),
      }),
  },
  {
    ...{ what: 'a voucher', action: 'nft_mint', path: '/v1/nft/mint' },
    body: (place) => minted(place, { minting_type: 'LAZY', recipient: STRANGER, metadata }),
  },
  {
    ...{ what: 'a transfer of a token', action: 'nft_transfer', path: '/v1/nft/transfer' },
    body: ({ collection, wallet }) => ({
      collection_id: collection.id,
      from: wallet.address,
      token_id: '1',
      to: STRANGER,
    }),
  },
]

const newKey = () => randomBytes(8).toString('hex')
const send = ({ path, body }: Case, place: Place, key = newKey()) =>
  ask({ method: 'POST', path, key, body: body(place) })

const recorded = async () =>
  (
    await pool.query(
      `SELECT (SELECT count(*) FROM events WHERE stream_version = 1 AND split_part(stream_id, '-', 1) <> 'policydenials') AS openings,
              (SELECT count(*) FROM nft_tokens) AS tokens, (SELECT count(*) FROM nft_transfers) AS transfers,
              (SELECT sum(spent) FROM spend_buckets) AS spent,
              (SELECT sum(held) FROM wallet_holds WHERE wallet_id = $1) AS held`,
      [denied.id],
    )
  ).rows

for (const one of CASES)
  t.test(`${one.what} is allowed, denied by the name of its action, and limited`, async (t) => {
    const match = { actions: [one.action] }
    const rule = `no-${one.action}`
    const version = await publishOver(api, [
      { id: rule, effect: 'deny', match: { ...match, wallets: { in: [denied.id] } } },
      {
        ...{ id: 'one', effect: 'limit', match: { ...match, wallets: { in: [limited.id] } } },
        // What was minted before counts: each has room for one more.
        limit: { count: (await countOf(one.action)) + 1, window_seconds: HOUR },
      },
    ])
    t.match((await send(one, allowed)).status, /^20[12]$/)
    t.match((await send(one, capped)).status, /^20[12]$/, 'the first fits')
    const before = await recorded()
    const key = newKey()
    const refusal = {
      status: 403,
      body: { errors: [{ type: 'policy_error', code: 'policy_denied', details: { rule, version, reason: 'denied' } }] },
    }
    matchExactly(t, await send(one, refused, key), refusal)
    const again = await send(one, refused, key)
    matchExactly(t, again, refusal)
    t.notOk(again.headers['idempotency-replayed'], 'the refusal used no key')
    const next =
      one.action === 'nft_transfer' ? { ...one, body: (place: Place) => ({ ...one.body(place), token_id: '2' }) } : one
    matchExactly(t, await send(next, capped), {
      status: 403,
      body: {
        errors: [
          {
            ...{ type: 'policy_error', code: 'policy_limit' },
            details: { rule: 'one', version, left: '0', needed: '1', unit: 'transactions', available_at: /Z$/ },
          },
        ],
      },
    })
    t.strictSame(await recorded(), before, 'nothing is recorded, held or counted')
    await publishOver(api, [])
    const accepted = await send(one, refused, key)
    matchExactly(t, [accepted.status, accepted.headers['idempotency-replayed']], [/^20[12]$/, undefined])
    t.equal((await send(one, refused, key)).headers['idempotency-replayed'], 'true')
  })

/** Transactions and vouchers of the limited wallet that count so far. */
async function countOf(action: string): Promise<number> {
  const types = action === 'nft_mint' ? ['MintRequested', 'VoucherRequested'] : ['NftTransferRequested']
  const { rows } = await pool.query<{ n: number }>(
    `SELECT count(*)::integer AS n FROM events WHERE type = ANY ($1) AND data->>'walletId' = $2`,
    [types, limited.id],
  )
  return rows[0]?.n ?? 0
}

t.end()
