/** Which signed bytes go to the nodes and which to the private relay, and when a swap is not sent any more. */
import t from 'tap'
import type { Submission } from '../../src/chain/rpc-errors.ts'
import type { Change } from '../../src/event-log/aggregate.ts'
import { StreamConflict } from '../../src/event-log/commit.ts'
import { sendBytes } from '../../src/transactions/send-bytes.ts'
import { newestAttempt, type TransactionState } from '../../src/transactions/state.ts'
import { createSubmitLane, type SubmitLanePorts } from '../../src/transactions/submit-lane.ts'
import { cancelling, fold, golden, replaced, requested, signed } from '../support/recorded-transactions.ts'

const CHAIN = 1
const swapRequested = golden('SwapRequested')
const SWAP = fold([swapRequested, signed])
const BUMPED = fold([swapRequested, signed, { ...replaced, data: { ...replaced.data, purpose: 'bump' } }])
const CANCELLED = fold([swapRequested, signed, cancelling])
const TRANSFER = fold([requested, signed])

/** A node that says who it is. */
function sender(name: string) {
  const sent: string[] = []
  const sendRawTransactions = async (raw: readonly string[]): Promise<readonly Submission[]> => {
    sent.push(...raw)
    return raw.map(() => ({ outcome: 'accepted', message: name }))
  }
  return { sent, sendRawTransactions }
}

function bytesOf(state: TransactionState) {
  const attempt = state.state === 'unknown' ? null : newestAttempt(state)
  if (attempt === null) throw new Error('it is signed')
  return { loaded: { state }, attempt }
}

t.test('the relay gets swaps in each version, the nodes everything else, and both get a cancellation', async (t) => {
  const [node, relay] = [sender('node'), sender('relay')]
  const items = [TRANSFER, SWAP, CANCELLED, BUMPED, TRANSFER].map(bytesOf)
  const answers = await sendBytes({ clientOf: () => node, relayOf: () => relay }, CHAIN, items)
  t.strictSame(
    answers.map((answer) => answer?.message),
    ['node', 'relay', 'node', 'relay', 'node'],
  )
  const raw = items.map(({ attempt }) => attempt.rawTransaction)
  t.strictSame(node.sent, [raw[0], raw[2], raw[4]])
  t.strictSame(relay.sent, [raw[1], raw[2], raw[3]])
})

t.test('without a relay the nodes get everything', async (t) => {
  const node = sender('node')
  const items = [SWAP, CANCELLED, TRANSFER].map(bytesOf)
  await sendBytes({ clientOf: () => node, relayOf: () => null }, CHAIN, items)
  t.strictSame(
    node.sent,
    items.map(({ attempt }) => attempt.rawTransaction),
  )
})

/**
 * Submits one lane with one transaction. `later`: its state after the first append, which another process overtook.
 *
 * @returns the events that it appended
 */
async function submitted(
  state: TransactionState,
  now: string,
  ports: Pick<SubmitLanePorts, 'clientOf' | 'relayOf'> & { readonly lacksGas?: boolean },
  later?: TransactionState,
) {
  const appended: Change[] = []
  const loads = [state, later ?? state]
  let overtaken = later !== undefined
  const lease = { renew: async () => true, release: async () => 'done' }
  const submitLane = createSubmitLane({
    ...ports,
    log: {
      now: () => now,
      loadMany: async (_aggregate: unknown, ids: readonly string[]) =>
        ids.map((id) => ({ id, state: loads.shift() ?? state, version: 2, hash: '' })),
      append: async ({ changes }: { readonly changes: readonly Change[] }) => {
        if (overtaken) {
          overtaken = false
          throw new StreamConflict('transaction-tx_1')
        }
        appended.push(...changes)
      },
    },
    pauseOnConflict: async () => undefined,
    leases: { acquire: async () => lease },
    lanes: {
      toSubmit: async (_lane: unknown, page: { readonly afterNonce: number }) => (page.afterNonce < 0 ? ['tx_1'] : []),
    },
    lackGasOf: () => async (transactions: readonly unknown[]) => transactions.map(() => ports.lacksGas === true),
    rebroadcastAfterMs: 1_000,
    onRefused: () => undefined,
  } as unknown as SubmitLanePorts)
  await submitLane({ chainId: CHAIN, address: '0x0000000000000000000000000000000000000001' })
  return appended.flatMap(({ events }) => events.map(({ canonical }): string => JSON.parse(canonical).type))
}

t.test('a swap that its deadline has overtaken is not sent to the relay, but cancelled', async (t) => {
  const validUntil = swapRequested.data.validUntil
  if (validUntil === null) throw new Error('a swap has a deadline')
  const late = new Date(Date.parse(validUntil) + 1).toISOString()
  const [node, relay] = [sender('node'), sender('relay')]
  const ports = { clientOf: () => node, relayOf: () => relay }
  t.strictSame(await submitted(SWAP, late, ports), ['CancellationRequested'])
  t.strictSame([node.sent, relay.sent], [[], []])
  t.strictSame(await submitted(CANCELLED, late, ports), ['TransactionSubmitted'], 'its cancellation is sent')
  t.strictSame(await submitted(SWAP, validUntil, ports), ['TransactionSubmitted'], 'until then it is sent')
  t.strictSame(await submitted(SWAP, late, { ...ports, relayOf: () => null }), ['TransactionSubmitted'])
})

t.test('what a restored database has forgotten meanwhile is not recorded, and does not stop the lane', async (t) => {
  const node = sender('node')
  const ports = { clientOf: () => node, relayOf: () => null }
  const now = requested.data.requestedAt
  t.strictSame(await submitted(TRANSFER, now, ports, TRANSFER), ['TransactionSubmitted'], 'it decides again')
  t.strictSame(await submitted(TRANSFER, now, ports, fold([])), [])
})

t.test(
  'bytes that a fork has left with too little gas are not sent, and stay as they are until they are replaced',
  async (t) => {
    const node = sender('node')
    const ports = { clientOf: () => node, relayOf: () => null }
    const now = '2026-11-21T12:00:00.000Z'
    t.strictSame(await submitted(TRANSFER, now, { ...ports, lacksGas: true }), [])
    t.strictSame(node.sent, [])
    t.strictSame(await submitted(TRANSFER, now, ports), ['TransactionSubmitted'])
  },
)
