/**
 * kill -9 of each process of the built service during transfers, then of all of them: every accepted transfer is on
 * chain once, with no action except restarting, a client of the event feed gets every event once, in order, and a webhook
 * gets every event, in order for each transaction. A wallet that watches the recipient shows each as one deposit. `npm run faults` does the same at random, and longer.
 */
import { getAddress } from 'ethers'
import pg from 'pg'
import t from 'tap'
import { publishedTransactions } from '../../src/transactions/published.ts'
import { accepted, type Client } from '../support/client.ts'
import { listen } from '../support/event-stream.ts'
import { type Answered, makeWallets, planTransfers, RECIPIENT } from '../support/load.ts'
import { createRandom } from '../support/load-random.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { type Receiver, withReceiver } from '../support/webhook-receiver.ts'
import { startWorld } from '../support/world.ts'
import type { Fault } from './fault-plan.ts'
import { runRound } from './run-round.ts'

const TRANSFERS = 120
const WALLETS = 8
const SPREAD_MS = 2_000
/** In the middle: some transfers are accepted, some signed, some submitted, some mined. */
const AT_MS = 1_200
/** Longer than a lease lasts: another holder has continued when it resumes. */
const PAUSE_MS = 4_000

const kill = (...names: string[]): Fault => ({ type: 'kill', atMs: AT_MS, names })

/** Faults that lose a chain's last blocks come last: by then its node has saved the wallets' funds. */
const FAULTS: readonly (readonly [string, Fault])[] = [
  ['the API', kill('api')],
  ['the dispatcher', kill('dispatcher')],
  ['the signer', kill('signer')],
  ['the submitter', kill('submitter')],
  ['the chain follower', kill('chain-follower')],
  ['the webhook sender', kill('webhook-sender')],
  ['PostgreSQL', kill('postgres')],
  [
    'nobody, but the signer hangs for longer than its leases live',
    { type: 'pause', atMs: AT_MS, name: 'signer', forMs: PAUSE_MS },
  ],
  ['the node, with the blocks that it had not written down', kill('anvil-ethereum')],
  ['the parent', { type: 'kill parent', atMs: AT_MS }],
  [
    'all workers, PostgreSQL and the node at once',
    kill('api', 'dispatcher', 'signer', 'submitter', 'chain-follower', 'webhook-sender', 'postgres', 'anvil-ethereum'),
  ],
  ['everything with the parent', { type: 'kill all', atMs: AT_MS }],
]

t.test(`kill -9 during ${TRANSFERS} transfers from ${WALLETS} wallets loses and doubles nothing`, async (t) => {
  const seed = Date.now() % 1_000_000
  t.comment(`seed ${seed}`)
  const world = await startWorld()
  t.after(world.close)
  const { service } = world
  const wallets = await makeWallets(
    service.api,
    Array.from({ length: WALLETS }, () => 'ethereum' as const),
  )
  const { base_url: baseUrl, api_key: apiKey } = service.state()
  const listener = listen({ baseUrl, apiKey })
  t.after(listener.stop)
  const receiver = await withReceiver(t)
  await createWebhook(service.api, receiver)
  const watched = await watchRecipient(service.api)
  const random = createRandom(seed)
  let onChain = 0
  const answers: Answered[] = []
  for (const [who, fault] of FAULTS) {
    const transfers = planTransfers(random, {
      wallets,
      count: TRANSFERS,
      firstNumber: answers.length,
      spreadMs: SPREAD_MS,
      tokens: 0.25,
      impatient: 0,
    })
    // The log verified in the last round covers all rounds.
    const provesLog = who === FAULTS.at(-1)?.[0]
    const result = await runRound({ world, wallets, transfers, faults: [fault], random, earlier: answers, provesLog })
    answers.push(...result.answers)
    const { accepted, once, ended, doubled, lost, problems } = result.audit
    t.ok(result.hits.kills + result.hits.pauses > 0, `faults hit ${who}`)
    onChain = once
    t.strictSame(problems, [], `${who}: the audit finds no problem`)
    t.strictSame({ accepted, doubled, lost }, { accepted: answers.length, doubled: 0, lost: 0 })
    t.equal(once + ended, accepted)
    t.comment(
      `${who}: ${once} of ${accepted} transfers once on chain, ${ended} cancelled, ready after ${Math.round(result.readyMs)} ms, settled after ${Math.round(result.settledMs)} ms`,
    )
  }
  await eventually(async () => (await confirmedAmounts(service.api, watched)).length >= onChain)
  const deposits = await confirmedAmounts(service.api, watched)
  t.equal(deposits.length, onChain, 'each transfer is one confirmed deposit of the wallet that watches its recipient')
  t.equal(new Set(deposits).size, deposits.length, 'and none is two: the amounts are unique')
  const expected = await idsOfTransactions(service.state().database_url)
  const ofTransactions = () => listener.ids.filter((id) => /^evt_transaction-[^~]*$/.test(id))
  await eventually(async () => ofTransactions().length >= expected.length)
  t.strictSame(
    ofTransactions(),
    expected,
    'the client of the feed has every event of a transaction once, in the order of the log',
  )
  t.equal(new Set(listener.ids).size, listener.ids.length, 'and no event twice')
  const delivered = () => [...new Set(receiver.all.map(({ event }) => event.id))]
  await eventually(async () => delivered().length >= expected.length)
  t.strictSame(byResource(delivered()), byResource(expected), 'so has the webhook, in the order of each transaction')
  t.comment(`${receiver.all.length} deliveries of ${expected.length} events`)
  t.ok(listener.connections() > 4, `over ${listener.connections()} connections`)
  if (!t.passing()) t.comment(service.lastWords())
})

async function watchRecipient(api: Client): Promise<string> {
  const body = {
    address: getAddress(RECIPIENT),
    network: 'ethereum',
    label: 'recipient',
    notifications: { incoming_transactions: true, large_transfers: true },
  }
  return accepted(await api.insist({ method: 'POST', path: '/v1/wallets/watch', key: 'watch', body })).wallet_id
}

/** What came in and is confirmed. */
async function confirmedAmounts(api: Client, walletId: string): Promise<string[]> {
  type Page = {
    readonly activity: readonly { readonly amount: string; readonly asset: string; readonly status: string }[]
    readonly next_cursor: string | null
  }
  const amounts: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: string = cursor === '' ? '' : `&cursor=${cursor}`
    const answer = await api.insist({ path: `/v1/wallets/${walletId}/activity?direction=in&limit=100${query}` })
    const { activity, next_cursor } = accepted<Page>(answer)
    const confirmed = activity.filter(({ status }) => status === 'confirmed')
    amounts.push(...confirmed.map(({ amount, asset }) => `${amount} ${asset}`))
    cursor = next_cursor
  }
  return amounts
}

/** Everything that happens to a transaction, but not what its blocks change besides. */
async function createWebhook(api: Client, { urlOf, verifyWith }: Receiver): Promise<void> {
  const types = publishedTransactions().types
  const body = { url: urlOf('/hook'), types: Object.keys(types) }
  verifyWith('/hook', accepted(await api.insist({ method: 'POST', path: '/v1/webhooks', key: 'webhook', body })).secret)
}

/** Event ids of each stream, in the order given. */
function byResource(ids: readonly string[]): Readonly<Record<string, readonly string[]>> {
  const streams = [...new Set(ids.map((id) => id.slice(0, id.lastIndexOf('.'))))].toSorted()
  return Object.fromEntries(streams.map((stream) => [stream, ids.filter((id) => id.startsWith(`${stream}.`))]))
}

/** The public events of transactions, as the log has them. */
async function idsOfTransactions(databaseUrl: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const { rows } = await client.query<{ readonly id: string }>(
    `SELECT 'evt_' || stream_id || '.' || stream_version AS id FROM events
      WHERE metadata->>'tenantId' = 'demo' AND stream_id LIKE 'transaction-%' AND type NOT IN ('CancellationRequested', 'SpeedUpRequested')
      ORDER BY events.transaction_id, position`,
  )
  await client.end()
  return rows.map(({ id }) => id)
}

t.end()
