/** A client that reads a list and then events, from the list's `as_of_event` on, misses no change, whenever it happens. */
import t from 'tap'
import { composeFeed } from '../../src/compose/api-feed.ts'
import { serve } from '../support/capabilities.ts'
import { insertEvent } from '../support/event-history.ts'
import { FOREIGN, WATCH } from '../support/wallet-api.ts'
import { withWallets } from '../support/wallet-parts.ts'

const NOW = '2026-01-01T00:00:00.000Z'

type Shown = { readonly wallets: readonly { readonly wallet_id: string }[]; readonly as_of_event: string | null }

const parts = await withWallets(t)
const { pool } = parts
const authenticator = { recall: () => undefined, verify: async () => null }
const streams = { ofKey: 1, ofProcess: 1 }
const feed = await composeFeed(parts, authenticator, { streams })
/** Runs after the position was read and before the rows are. */
let meanwhile = async () => undefined as unknown
const { send } = await serve(parts, ['wallets'], {
  routes: feed.routes,
  async asOfEvent(owner) {
    const id = await feed.asOfEvent(owner)
    await meanwhile()
    return id
  },
})

let watched = 0
async function watch(): Promise<string> {
  watched += 1
  const address = `0x${(BigInt(FOREIGN) + BigInt(watched)).toString(16).padStart(40, '0')}`
  const answer = await send({ method: 'POST', url: '/v1/wallets/watch', payload: { ...WATCH, address } })
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.body.data?.wallet_id as string
}

async function list(): Promise<Shown & { readonly ids: readonly string[] }> {
  const shown = (await send({ url: '/v1/wallets?limit=100' })).body.data as Shown
  return { ...shown, ids: shown.wallets.map(({ wallet_id }) => wallet_id) }
}

/** The resources of the events after a position. */
async function changedAfter(position: string | null): Promise<string[]> {
  const after = position === null ? '' : `&after=${encodeURIComponent(position)}`
  const answer = await send({ url: `/v1/events?limit=1000${after}` })
  if (answer.status !== 200) throw new Error(answer.text)
  const { events } = answer.body.data as { events: { type: string; resource: { id: string } }[] }
  return events.map(({ resource }) => resource.id)
}

t.test('the position is null before the first event, and what comes then is found from the beginning', async (t) => {
  const { ids, as_of_event } = await list()
  t.strictSame([ids, as_of_event], [[], null])
  const id = await watch()
  t.strictSame(await changedAfter(as_of_event), [id])
})

t.test('events after the position are those that the list does not show', async (t) => {
  const shown = await list()
  t.type(shown.as_of_event, 'string')
  t.strictSame(await changedAfter(shown.as_of_event), [], 'nothing of the list is repeated')
  const id = await watch()
  t.notOk(shown.ids.includes(id))
  t.strictSame(await changedAfter(shown.as_of_event), [id])
})

t.test('a change between the position and the rows is in both', async (t) => {
  let between = ''
  meanwhile = async () => {
    between = await watch()
  }
  const shown = await list()
  meanwhile = async () => undefined
  t.ok(shown.ids.includes(between))
  t.strictSame(await changedAfter(shown.as_of_event), [between])
})

t.test('a change whose transaction commits after the list is not skipped by a newer one in the list', async (t) => {
  const late = await pool.connect()
  await late.query('BEGIN')
  const asset = { assetId: 'eip155:1/erc20:0x03', network: 'ethereum', environment: 'mainnet', chainId: 1 }
  const recorded = { ...asset, contractAddress: '0x03', symbol: 'S', name: 'S', decimals: 6, registeredAt: NOW }
  await insertEvent(late as never, `asset-${asset.assetId}@acme`, 1, 'AssetRegistered', recorded)
  const newer = await watch()
  const shown = await list()
  await late.query('COMMIT')
  late.release()
  t.ok(shown.ids.includes(newer))
  t.strictSame(await changedAfter(shown.as_of_event), [asset.assetId, newer])
})

t.test('writers and readers at the same time: each list and the events after it have every wallet', async (t) => {
  const written: string[] = []
  const write = async () => {
    for (let n = 0; n < 20; n += 1) written.push(await watch())
  }
  const writing = Promise.all([write(), write(), write()])
  const lists = []
  for (let n = 0; n < 10; n += 1) lists.push(await list())
  await writing
  for (const { ids, as_of_event } of lists) {
    const known = new Set([...ids, ...(await changedAfter(as_of_event))])
    t.strictSame(
      written.filter((id) => !known.has(id)),
      [],
    )
  }
})

t.end()
