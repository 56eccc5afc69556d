/** Token holders: the effects of moves, and of reorgs. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import type { Block } from '../../src/chain/blocks.ts'
import { TRANSFER_TOPIC } from '../../src/chain/erc20.ts'
import { decideOn, upcast } from '../../src/event-log/aggregate.ts'
import { TRANSFER_BATCH_TOPIC, TRANSFER_SINGLE_TOPIC } from '../../src/nft/contracts/logs.ts'
import { ownershipAggregate } from '../../src/nft/ownership/aggregate.ts'
import type { MovesOfBlock, OwnershipEvent, TokenMove } from '../../src/nft/ownership/events.ts'
import { contractsMoving, movesIn } from '../../src/nft/ownership/moves.ts'
import {
  evolve,
  type Holding,
  holdingKey,
  NOBODY,
  type OwnershipState,
  stateOf,
} from '../../src/nft/ownership/state.ts'

const NOW = '2026-11-21T12:00:00.000Z'
const CONTRACT = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const ALICE = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const BOB = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const PLACE = { chainId: 1000001, contract: CONTRACT }

function block(blockNumber: number, ...moves: TokenMove[]): MovesOfBlock {
  return { ...PLACE, blockNumber, blockHash: `0xa${blockNumber}`, moves }
}
const move = (tokenId: string, from: string | null, to: string | null, amount = '1'): TokenMove => ({
  tokenId,
  from,
  to,
  amount,
})
function moved(of: MovesOfBlock): OwnershipEvent {
  return { type: 'TokensMoved', data: { ...of, observedAt: NOW } }
}
function reorged(of: MovesOfBlock, ancestorNumber: number): OwnershipEvent {
  return { type: 'OwnershipReorged', data: { ...of, ancestorNumber, observedAt: NOW } }
}
const fold = (...events: OwnershipEvent[]) => events.reduce(evolve, NOBODY)

function holdings({ pages }: OwnershipState): Holding[] {
  return [...pages.values()].flatMap((page) => [...page.values()])
}
/** `token owner amount` of each holder. */
function held(state: OwnershipState): string[] {
  return holdings(state)
    .filter(({ amount }) => amount !== 0n)
    .map(({ tokenId, owner, amount }) => `${tokenId} ${owner} ${amount}`)
    .toSorted()
}

t.test('a token has its current holder from the mint on, and none once it is burnt', async (t) => {
  const minted = fold(moved(block(1, move('1', null, ALICE), move('300', null, ALICE))))
  t.strictSame(held(minted), [`1 ${ALICE} 1`, `300 ${ALICE} 1`])
  const given = evolve(minted, moved(block(2, move('1', ALICE, BOB))))
  t.strictSame(held(given), [`1 ${BOB} 1`, `300 ${ALICE} 1`])
  const burnt = evolve(given, moved(block(3, move('1', BOB, null))))
  t.strictSame(held(burnt), [`300 ${ALICE} 1`])
})

t.test('units of one token are counted for each holder, and a transfer to oneself changes nothing', async (t) => {
  const state = fold(
    moved(block(1, move('7', null, ALICE, '100'))),
    moved(block(2, move('7', ALICE, BOB, '30'), move('7', BOB, BOB, '30'), move('7', BOB, ALICE, '5'))),
  )
  t.strictSame(held(state), [`7 ${ALICE} 75`, `7 ${BOB} 25`])
})

t.test('undoing blocks, newest first, restores the holders before them', async (t) => {
  const two = block(2, move('1', ALICE, BOB))
  const three = block(3, move('1', BOB, null), move('2', null, BOB))
  const before = fold(moved(block(1, move('1', null, ALICE))))
  const after = [moved(two), moved(three), reorged(three, 1), reorged(two, 1)].reduce(evolve, before)
  t.strictSame(held(after), held(before))
  t.ok(
    holdings(after).every(({ blockNumber }) => blockNumber === 1),
    'no holding refers to a block that left the chain',
  )
})

t.test('rows are written only for the holders that a change affects', async (t) => {
  const state = fold(moved(block(1, move('1', null, ALICE), move('2', null, ALICE))))
  const loaded = { id: 'col_1', state, version: 1, hash: 'aa' }
  const command = { type: 'RecordMoves', blocks: [block(2, move('1', ALICE, BOB))], now: NOW } as const
  const decision = decideOn(ownershipAggregate, loaded, command, {
    metadata: { tenantId: 'acme', actor: 'test' },
    now: NOW,
  })
  const common = { chain_id: 1000001, contract: CONTRACT, token_id: '1', block_number: 2, collection_id: 'col_1' }
  t.strictSame(decision?.readModels.rows, [
    { table: 'nft_owners', row: { ...common, owner: ALICE, amount: '0' } },
    { table: 'nft_owners', row: { ...common, owner: BOB, amount: '1' } },
  ])
})

t.test('a state that knows only the touched holders evolves as the whole one does', async (t) => {
  const person = fc.constantFrom(ALICE, BOB, null)
  const moves = fc.array(
    fc.record({
      tokenId: fc.constantFrom('1', '2', '255', '256', '9'.repeat(70)),
      from: person,
      to: person,
      amount: fc.constantFrom('1', '5', '40'),
    }),
    { minLength: 1, maxLength: 6 },
  )
  const seed = Date.now()
  t.comment(`seed ${seed}`)
  fc.assert(
    fc.property(fc.array(moves, { maxLength: 5 }), moves, fc.boolean(), (history, last, undo) => {
      const whole = fold(...history.map((each, n) => moved(block(n, ...each))))
      const named = new Set(
        last.flatMap(({ tokenId, from, to }) => [from, to].map((owner) => holdingKey({ tokenId, owner: owner ?? '' }))),
      )
      const partial = stateOf(
        PLACE,
        holdings(whole).filter((holding) => named.has(holdingKey(holding))),
      )
      const event = undo ? reorged(block(9, ...last), 8) : moved(block(9, ...last))
      const touched = holdings(evolve(whole, event)).filter((holding) => named.has(holdingKey(holding)))
      const order = (a: Holding, b: Holding) => holdingKey(a).localeCompare(holdingKey(b))
      assert.deepStrictEqual(holdings(evolve(partial, event)).toSorted(order), touched.toSorted(order))
    }),
    { seed },
  )
})

const word = (value: bigint) => value.toString(16).padStart(64, '0')
const topic = (address: string | null) => `0x${word(BigInt(address ?? 0))}`
function log(contract: string, topics: string[], data = '0x') {
  return { address: contract.toLowerCase(), topics, data, logIndex: 0 }
}
function blockOf(number: number, logs: ReturnType<typeof log>[]): Block {
  const transaction = {
    hash: '0x1',
    from: '0x2',
    to: null,
    nonce: 0,
    value: 0n,
    input: '0x',
    status: 'success',
  } as const
  return {
    number,
    hash: `0xa${number}`,
    parentHash: '0x',
    timestamp: 0,
    baseFeePerGas: null,
    income: null,
    transactions: [{ ...transaction, gasUsed: 0n, effectiveGasPrice: 0n, offer: null, logs, authorizations: [], hasBlobs: false }],
  }
}

t.test('moves are read from the logs of both standards, block by block, and of followed contracts alone', async (t) => {
  const other = '0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0'
  const erc721 = log(CONTRACT, [TRANSFER_TOPIC, topic(null), topic(ALICE), topic('0x01')])
  const single = log(
    CONTRACT,
    [TRANSFER_SINGLE_TOPIC, topic(BOB), topic(ALICE), topic(BOB)],
    `0x${word(2n)}${word(9n)}`,
  )
  const arrays = [64n, 160n, 2n, 3n, 4n, 2n, 0n, 8n].map(word).join('')
  const batch = log(CONTRACT, [TRANSFER_BATCH_TOPIC, topic(BOB), topic(BOB), topic(null)], `0x${arrays}`)
  const erc20 = log(CONTRACT, [TRANSFER_TOPIC, topic(ALICE), topic(BOB)], `0x${word(5n)}`)
  const strange = log(other, [TRANSFER_TOPIC, topic(null), topic(ALICE), topic('0x01')])
  const blocks = [blockOf(1, [erc721, erc20, strange]), blockOf(2, [erc20]), blockOf(3, [single, batch])]
  t.strictSame(contractsMoving(blocks).toSorted(), [CONTRACT, other].map((address) => address.toLowerCase()).toSorted())
  t.strictSame(
    [...movesIn(blocks, PLACE.chainId, [CONTRACT])],
    [
      [
        CONTRACT,
        [
          block(1, move('1', null, ALICE)),
          // A batch with zero units changes nothing.
          block(3, move('2', ALICE, BOB, '9'), move('4', BOB, null, '8')),
        ],
      ],
    ],
  )
})

t.test('one call that names an id thousands of times is one move, and one to oneself is none', (t) => {
  const word = (value: bigint | number) => BigInt(value).toString(16).padStart(64, '0')
  const batch = (from: string, to: string, count: number) => ({
    address: CONTRACT.toLowerCase(),
    topics: [TRANSFER_BATCH_TOPIC, ...[from, from, to].map((one) => `0x${word(BigInt(one))}`)],
    data: `0x${[64, 64 + 32 * (count + 1)].map(word).join('')}${`${word(count)}${word(1).repeat(count)}`.repeat(2)}`,
    logIndex: 0,
  })
  const logs = [batch(ALICE, ALICE, 2_000), batch(ALICE, BOB, 2_000), batch(ALICE, BOB, 3)]
  const transactions = [{ hash: '0x01', logs }]
  const one = { number: 7, hash: '0xb7', transactions } as unknown as Block
  const moves = movesIn([one], PLACE.chainId, [CONTRACT]).get(CONTRACT)?.[0]?.moves
  t.strictSame(moves, [{ tokenId: '1', from: ALICE, to: BOB, amount: '2003' }])
  t.end()
})

t.test('recorded events of every version are read', async (t) => {
  const state = ['TokensMoved', 'OwnershipReorged'].map((type) => {
    const golden = JSON.parse(readFileSync(new URL(`../golden/events/${type}.v1.json`, import.meta.url), 'utf8'))
    return upcast<OwnershipEvent>(ownershipAggregate.schemas, golden.type, golden.schema_version, golden.data)
  })
  t.strictSame(held(fold(...state.slice(0, 1))), [`1 ${BOB} 1`])
  t.strictSame(held(fold(...state)), [])
})
