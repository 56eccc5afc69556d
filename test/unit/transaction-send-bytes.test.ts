/** Which signed bytes go to the nodes and which to the private relays, and when a swap is not sent any more. */
import t from 'tap'
import type { RpcReader } from '../../src/chain/json-rpc.ts'
import type { RelayedBytes } from '../../src/chain/relays.ts'
import type { Submission } from '../../src/chain/rpc-errors.ts'
import { KINDS } from '../../src/compose/capabilities.ts'
import type { Decision } from '../../src/event-log/aggregate.ts'
import { StreamConflict } from '../../src/event-log/append.ts'
import { createCommit } from '../../src/event-log/commit.ts'
import { isFutile, type Receivers, sendBytes } from '../../src/transactions/send-bytes.ts'
import { newestAttempt, type TransactionState } from '../../src/transactions/state.ts'
import { submitLane } from '../../src/transactions/submit-lane.ts'
import { cancelling, fold, golden, replaced, requested, signed } from '../support/recorded-transactions.ts'

const CHAIN = 1
const swapRequested = golden('SwapRequested')
const SWAP = fold([swapRequested, signed])
const BUMPED = fold([swapRequested, signed, { ...replaced, data: { ...replaced.data, purpose: 'bump' } }])
const CANCELLED = fold([swapRequested, signed, cancelling])
const TRANSFER = fold([requested, signed])
/** As a request that recorded these relays. */
const recording = (hosts: readonly string[], ...later: Parameters<typeof fold>[0]) =>
  fold([
    { ...swapRequested, data: { ...swapRequested.data, swap: { ...swapRequested.data.swap, relays: hosts } } },
    signed,
    ...later,
  ] as Parameters<typeof fold>[0])

/** A node that says who it is. */
function nodeOf(name = 'node') {
  const sent: string[] = []
  const sendRawTransactions = async (raw: readonly string[]): Promise<readonly Submission[]> => {
    sent.push(...raw)
    return raw.map(() => ({ outcome: 'accepted', message: name }))
  }
  return { sent, sendRawTransactions, transactionCount: async () => 0 }
}

/** Nodes that agree on this answer to everything. */
function agreeing(value: unknown = null) {
  const batch: RpcReader['batch'] = async (requests) => requests.map(() => ({ ok: true, value }))
  return { batch }
}

/** Relays with these hosts, which say the same. */
function relaysOf(hosts: readonly string[], says: Submission = { outcome: 'accepted', message: 'relay' }) {
  const sent: (readonly [host: string, raw: string])[] = []
  const send = async (items: readonly RelayedBytes[]) =>
    items.map(({ raw, hosts: own }) =>
      hosts
        .filter((host) => own.includes(host))
        .map((host) => {
          sent.push([host, raw])
          return { host, ...says }
        }),
    )
  return { sent, hosts, send }
}

function bytesOf(state: TransactionState) {
  const attempt = state.state === 'unknown' ? null : newestAttempt(state)
  if (attempt === null) throw new Error('it is signed')
  return { loaded: { state }, attempt }
}

t.test('bytes of a kind that the program has no rules of go nowhere', async (t) => {
  const [node, relays] = [nodeOf(), relaysOf(['a'])]
  const receivers = { client: node, agreed: agreeing(), relays }
  for (const state of [TRANSFER, SWAP]) {
    const [answer] = await sendBytes(receivers, [bytesOf(state)], new Map())
    t.equal(answer?.outcome, 'left')
  }
  t.strictSame([node.sent, relays.sent], [[], []])
})

t.test('nobody cancels what a program without rules of its kind left', async (t) => {
  const state = fold([{ ...requested, data: { ...requested.data, validUntil: '2026-01-01T00:00:00.000Z' } }, signed])
  for (const kinds of [KINDS, new Map()])
    t.equal(isFutile({ relays: null, kinds }, bytesOf(state), '2026-12-01T00:00:00.000Z'), false)
})

t.test('relays get swaps in each version, the nodes everything else, and both get a cancellation', async (t) => {
  const [node, relays] = [nodeOf(), relaysOf(['a'])]
  const items = [TRANSFER, SWAP, CANCELLED, BUMPED, TRANSFER].map(bytesOf)
  const answers = await sendBytes({ client: node, agreed: agreeing(), relays }, items, KINDS)
  t.strictSame(
    answers.map((answer) => answer?.message),
    ['node', 'relay', 'node', 'relay', 'node'],
  )
  const raw = items.map(({ attempt }) => attempt.rawTransaction)
  t.strictSame(node.sent, [raw[0], raw[2], raw[4]])
  t.strictSame(
    relays.sent.map(([, sent]) => sent),
    [raw[1], raw[2], raw[3]],
  )
})

t.test('without a relay the nodes get everything', async (t) => {
  const node = nodeOf()
  const items = [SWAP, CANCELLED, TRANSFER].map(bytesOf)
  await sendBytes({ client: node, agreed: agreeing(), relays: null }, items, KINDS)
  t.strictSame(
    node.sent,
    items.map(({ attempt }) => attempt.rawTransaction),
  )
})

t.test('every relay of the request gets its swap, and no other relay does', async (t) => {
  const [node, relays] = [nodeOf(), relaysOf(['a', 'b', 'c'])]
  await sendBytes({ client: node, agreed: agreeing(), relays }, [bytesOf(recording(['a', 'c', 'gone']))], KINDS)
  t.strictSame(
    relays.sent.map(([host]) => host),
    ['a', 'c'],
  )
  t.strictSame(node.sent, [])
})

t.test(
  'a process without a relay of the request sends the swap to nobody, and its cancellation to nodes',
  async (t) => {
    for (const relays of [null, relaysOf(['other'])]) {
      const node = nodeOf()
      const items = [bytesOf(recording(['a'])), bytesOf(recording(['a'], cancelling))]
      const answers = await sendBytes({ client: node, agreed: agreeing(), relays }, items, KINDS)
      t.strictSame(
        answers.map((answer) => answer?.outcome),
        ['left', 'accepted'],
      )
      t.strictSame(node.sent, [items[1]?.attempt.rawTransaction])
      t.strictSame(relays?.sent ?? [], [])
    }
  },
)

/**
 * Submits one lane with one transaction. `later`: its state after the first append, which another process overtook.
 *
 * @returns the events that it appended
 */
async function submitted(
  state: TransactionState,
  now: string,
  { lacksGas = false, ...chain }: Receivers & { readonly lacksGas?: boolean },
  later?: TransactionState,
) {
  const appended: Decision[] = []
  const loads = [state, later ?? state]
  let overtaken = later !== undefined
  const ctx = {
    chainOf: () => chain,
    log: {
      now: () => now,
      loadMany: async (_aggregate: unknown, ids: readonly string[]) =>
        ids.map((id) => ({ id, state: loads.shift() ?? state, version: 2, hash: '' })),
      commit: createCommit(
        async ({ decisions }: { readonly decisions: readonly Decision[] }) => {
          if (overtaken) {
            overtaken = false
            throw new StreamConflict('transaction-tx_1')
          }
          appended.push(...decisions)
        },
        async () => undefined,
      ),
    },
    lanes: {
      toSubmit: async (_lane: unknown, page: { readonly afterNonce: number }) => (page.afterNonce < 0 ? ['tx_1'] : []),
    },
    lackGas: async (_: number, transactions: readonly unknown[]) => transactions.map(() => lacksGas),
    config: { rebroadcastAfterMs: 1_000 },
    logger: { warn: () => undefined },
    onLeft: () => undefined,
    kinds: KINDS,
  } as unknown as Parameters<typeof submitLane>[0]
  const lane = { chainId: CHAIN, address: '0x0000000000000000000000000000000000000001' }
  await submitLane(ctx, lane, { name: 'submit-0', fence: 1n })
  return appended.flatMap(({ events }) => events.map(({ canonical }): string => JSON.parse(canonical).type))
}

const validUntil = swapRequested.data.validUntil ?? ''
const late = new Date(Date.parse(validUntil) + 1).toISOString()

t.test('a swap that its deadline has overtaken is not sent to the relay, but cancelled', async (t) => {
  const [node, relays] = [nodeOf(), relaysOf(['a'])]
  const ports = { client: node, agreed: agreeing(), relays }
  t.strictSame(await submitted(SWAP, late, ports), ['CancellationRequested'])
  t.strictSame([node.sent, relays.sent], [[], []])
  t.strictSame(await submitted(CANCELLED, late, ports), ['TransactionSubmitted'], 'its cancellation is sent')
  t.strictSame(await submitted(SWAP, validUntil, ports), ['TransactionSubmitted'], 'until then it is sent')
  t.strictSame(await submitted(SWAP, late, { ...ports, relays: null }), ['TransactionSubmitted'])
})

t.test(
  'a submitter without the relays of a swap records nothing before its deadline, and then cancels it',
  async (t) => {
    const node = nodeOf()
    const ports = { client: node, agreed: agreeing(), relays: null }
    t.strictSame(await submitted(recording(['a']), validUntil, ports), [])
    t.strictSame(await submitted(recording(['a']), late, ports), ['CancellationRequested'])
    t.strictSame(node.sent, [])
  },
)

t.test('no refusal of the relays alone is recorded', async (t) => {
  for (const outcome of ['rejected', 'nonce_too_low', 'insufficient_funds', 'replacement_underpriced'] as const) {
    const relays = relaysOf(['a', 'b'], { outcome, message: outcome })
    const ports = { client: nodeOf(), agreed: agreeing(), relays }
    t.strictSame(await submitted(recording(['a', 'b']), validUntil, ports), [], outcome)
    t.equal(relays.sent.length, 2)
  }
})

t.test('what the chain confirms of a refusal is recorded', async (t) => {
  const said = (outcome: Submission['outcome']) => relaysOf(['a'], { outcome, message: outcome })
  const saying = (answer: string) => ({
    ...nodeOf(),
    transactionCount: async () => Number(answer),
  })
  const submit = (outcome: Submission['outcome'], answer: string) =>
    submitted(recording(['a']), validUntil, {
      client: saying(answer),
      agreed: agreeing(answer),
      relays: said(outcome),
    })
  t.strictSame(await submit('nonce_too_low', '0xffff'), ['TransactionSubmitted'], 'the nonce is used')
  t.strictSame(await submit('nonce_too_low', '0x0'), [])
  t.strictSame(await submit('insufficient_funds', '0x0'), ['TransactionAwaitingFunds'], 'the wallet is empty')
  t.strictSame(await submit('insufficient_funds', `0x${(10n ** 24n).toString(16)}`), [])
})

t.test('what a restored database has forgotten meanwhile is not recorded, and does not stop the lane', async (t) => {
  const ports = { client: nodeOf(), agreed: agreeing(), relays: null }
  const now = requested.data.requestedAt
  t.strictSame(await submitted(TRANSFER, now, ports, TRANSFER), ['TransactionSubmitted'], 'it decides again')
  t.strictSame(await submitted(TRANSFER, now, ports, fold([])), [])
})

t.test(
  'bytes that a fork has left with too little gas are not sent, and stay as they are until they are replaced',
  async (t) => {
    const node = nodeOf()
    const ports = { client: node, agreed: agreeing(), relays: null }
    const now = '2026-11-21T12:00:00.000Z'
    t.strictSame(await submitted(TRANSFER, now, { ...ports, lacksGas: true }), [])
    t.strictSame(node.sent, [])
    t.strictSame(await submitted(TRANSFER, now, ports), ['TransactionSubmitted'])
  },
)
