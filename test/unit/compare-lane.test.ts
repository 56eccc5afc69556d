/** What a lane does with what the follower saw in blocks when a node shows less than the follower read. */
import t from 'tap'
import type { RpcReader } from '../../src/chain/json-rpc.ts'
import { createCommit } from '../../src/event-log/commit.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import { buildCall } from '../../src/transactions/build-call.ts'
import { createCompareLane } from '../../src/transactions/compare-lane.ts'
import { contentOf } from '../../src/transactions/content.ts'
import type { HeldCause } from '../../src/transactions/held-cause.ts'
import type { LooseOutside } from '../../src/transactions/outside.ts'
import { tagOf } from '../../src/transactions/tags.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { oneNode } from '../support/one-node.ts'
import { fold, requested, TAG_KEYS } from '../support/recorded-transactions.ts'

const ID = 'tx_1'
const LANE = { chainId: requested.data.chainId, address: requested.data.from }
const NONCE = 5
const CURSOR = { number: 10, hash: `0x${'ee'.repeat(32)}` }

function stage() {
  const state = fold([{ ...requested, data: { ...requested.data, idempotency: { key: 'k', part: 0 } } }])
  if (state.state === 'unknown') throw new Error('it was requested')
  const tag = tagOf(TAG_KEYS, { id: ID, transaction: state }, 'send')
  const row = {
    nonce: NONCE,
    hash: `0x${'cd'.repeat(32)}`,
    content: contentOf(buildCall(state.intent)),
    tag,
    isTaken: false,
  }
  const facts = {
    rows: [row] as LooseOutside[],
    latest: NONCE + 1,
    pending: NONCE + 1,
    walked: NONCE + 1,
    /** What happens between the first read of the lane and the next. */
    afterFirstRead: (): unknown => null,
  }
  const held: HeldCause[] = []
  const counts = ([, block]: readonly unknown[]) => {
    if (block === 'latest') return facts.latest
    if (block === 'pending') return facts.pending
    // By its hash: at the same number another branch may have more.
    return (block as { blockHash?: string }).blockHash === CURSOR.hash ? facts.walked : facts.latest
  }
  const client: RpcReader = {
    batch: async (requests) =>
      requests.map(({ method, params }) => ({
        ok: true,
        value: method === 'eth_getTransactionCount' ? `0x${counts(params).toString(16)}` : null,
      })),
  }
  const loaded = { id: ID, state, version: 1, hash: '', broken: null, tenantId: 'acme' }
  const knowledge = () => ({
    next: 0,
    cursor: CURSOR,
    epoch: 'a',
    outside: Math.max(0, ...facts.rows.map(({ nonce }) => nonce + 1)),
    taken: 0,
  })
  const compare = createCompareLane({
    log: {
      now: () => '2026-11-21T12:00:00.000Z',
      loadChecked: async () => [loaded],
      commit: createCommit(() => Promise.reject(new Error('nothing is recorded here'))),
    } as unknown as EventLog,
    outside: {
      knowledge: async () => {
        const known = knowledge()
        facts.afterFirstRead()
        return known
      },
      assigned: async () => 0,
      loose: async () => ({ known: knowledge(), loose: facts.rows }),
      overtaken: async () => [],
    },
    keys: TAG_KEYS,
    restoreState: async () => ({ untagged: false }),
    chainOf: () => ({ client: oneNode(client) }),
    now: () => 0,
    refusal: async () => null,
    onHeld: (_lane, cause) => held.push(cause),
    onRecovered: () => undefined,
  })
  const lease = { name: '', fence: 1n } as Parameters<typeof compare>[1]
  return { facts, held, compare: () => compare(LANE, lease, [ID]) }
}

t.test('a request waits for a node that is behind the block in which the follower saw it', async (t) => {
  const { facts, held, compare } = stage()
  await compare()
  facts.latest = NONCE // another node, which does not have the block yet
  matchExactly(t, await compare(), { held: null, unclear: [ID] })
  matchExactly(t, held, [{ kind: 'not_shown' }, { kind: 'not_shown' }])
  facts.rows = [] // the follower read that the block has left the chain
  facts.pending = NONCE
  matchExactly(t, await compare(), { held: null, unclear: [] })
})

t.test('after blocks of the lane left the chain nodes are asked again what their pools show', async (t) => {
  const { facts, compare } = stage()
  await compare()
  facts.rows = []
  facts.latest = NONCE
  facts.walked = NONCE // the pool has the bytes again
  t.match(await compare(), { held: { kind: 'not_walked', until: NONCE + 1 } })
})

t.test('blocks that leave the chain while a lane is compared hide nothing that they had', async (t) => {
  const { facts, compare } = stage()
  await compare()
  facts.afterFirstRead = () => {
    facts.rows = []
    facts.walked = NONCE // the pool has the bytes again
  }
  t.match(await compare(), { held: { kind: 'not_walked', until: NONCE + 1 } })
})

t.test('a lane waits while the follower is on a branch that nodes have left', async (t) => {
  const { facts, compare } = stage()
  facts.rows = []
  facts.walked = NONCE // at the number of the cursor the branch of the nodes has the bytes already
  t.match(await compare(), { held: { kind: 'not_walked', until: NONCE + 1, cursor: CURSOR.number } })
})
