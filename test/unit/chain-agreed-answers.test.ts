/** What is agreed is what was voted on: not the writing, the extra fields or the words of whoever answers first. */
import t from 'tap'
import { headerHash } from '../../src/chain/block-proof.ts'
import { classifyCallFailure } from '../../src/chain/rpc-errors.ts'
import { type Answer, always, HASH, Refusal, readsOf } from '../support/agreed-reads.ts'
import { matchExactly } from '../support/match-exactly.ts'

t.test('who answers first decides nothing: names of fields in other letters are not the same', async (t) => {
  const receipt = { status: '0x1', blockHash: HASH, logs: [] }
  const lie = { sTATUS: '0x1', blockHASH: HASH, lOGS: [] }
  t.strictSame(await readsOf([always(lie), always(receipt), always(receipt)]).ask('eth_getTransactionReceipt', HASH), {
    ok: true,
    value: { blockHash: HASH, logs: [], status: '0x1' },
  })
  t.match(await readsOf([always(lie), always(receipt)]).ask('eth_getTransactionReceipt', HASH), {
    error: { reason: 'no_quorum' },
  })
})

t.test('numbers that are none count as the nothing that they are compared as', async (t) => {
  const { ask } = readsOf([always(JSON.parse('1e999')), always(null), always(null)])
  t.strictSame(await ask('eth_getTransactionReceipt', HASH), { ok: true, value: null })
})

/** With the hash of its fields. */
function headed() {
  const word = `0x${'00'.repeat(32)}`
  const fields = {
    ...{ parentHash: word, sha3Uncles: word, miner: `0x${'00'.repeat(20)}`, stateRoot: word, transactionsRoot: word },
    ...{ receiptsRoot: word, logsBloom: `0x${'00'.repeat(256)}`, difficulty: '0x0', number: '0x64', gasLimit: '0x1' },
    ...{ gasUsed: '0x0', timestamp: '0x1', extraData: '0x', mixHash: word, nonce: '0x0000000000000000' },
  }
  return { ...fields, hash: headerHash(fields) }
}

const TRANSACTIONS = [{ hash: `0x${'ab'.repeat(32)}`, nonce: '0x1' }]
const BLOCK = { number: '0x64', hash: `0x${'ab'.repeat(32)}`, parentHash: HASH, timestamp: '0x1' }

t.test(
  'a whole block has the transactions that a quorum shows, in whatever letters the first one writes',
  async (t) => {
    const block = { ...BLOCK, transactions: TRANSACTIONS }
    const shouted = {
      ...block,
      hash: `0x${'AB'.repeat(32)}`,
      transactions: [{ hash: `0x${'AB'.repeat(32)}`, nonce: '0x1' }],
    }
    const renamed = { ...BLOCK, transactionS: TRANSACTIONS }
    for (const first of [shouted, renamed])
      matchExactly(
        t,
        await readsOf([always(first), always(block), always(block)]).ask('eth_getBlockByNumber', '0x64', true),
        {
          ok: true,
          value: block,
        },
      )
  },
)

t.test('a header that hashes does not bring the transactions of the one who shows it', async (t) => {
  const fields = headed()
  const block = { ...fields, transactions: TRANSACTIONS }
  const lie = { ...fields, transactions: [] }
  matchExactly(
    t,
    await readsOf([always(lie), always(block), always(block)]).ask('eth_getBlockByNumber', '0x64', true),
    {
      ok: true,
      value: { transactions: TRANSACTIONS },
    },
  )
})

t.test('a hash in capital letters keeps no header from being read', async (t) => {
  const shouted = { ...BLOCK, hash: `0x${'AB'.repeat(32)}` }
  const { ask } = readsOf([always(shouted), always(BLOCK), always(BLOCK)])
  t.match(await ask('eth_getBlockByNumber', '0x64', false), { ok: true, value: BLOCK })
})

t.test('an answer that is nested deeper than the stack is no vote', async (t) => {
  const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)
  for (const method of ['eth_getBalance', 'debug_traceTransaction', 'eth_getBlockByNumber'])
    t.match(await readsOf([always(deep), always('0x1'), always('0x1')]).ask(method, HASH, true), { ok: true })
})

t.test('the words of a refusal are those of a quorum, or plain ones: the first one does not choose them', async (t) => {
  const empty = (text: string) => () => new Refusal(text, '0x')
  const lie = empty('execution reverted: send 5 ETH to 0xbad to unlock your wallet')
  const honest = empty('execution reverted')
  const ask = (...answers: readonly Answer[]) => readsOf(answers).ask('eth_call', {}, '0x1')
  for (const answers of [
    [lie, honest, honest],
    [honest, lie, honest],
  ])
    t.match(await ask(...answers), { error: { message: /^execution reverted$/ } })
  t.match(await ask(lie, lie, honest), { error: { message: /unlock/ } }, 'most of them may write what they like')
  const data = () => new Refusal('execution reverted', '0x08c379a0')
  const gas = () => new Refusal('out of gas', '0x08c379a0')
  t.match(await ask(gas, data, data), { error: { message: 'execution reverted', data: '0x08c379a0' } })
  for (const [said, plain] of [
    ['insufficient funds for gas * price + value: balance 1', 'insufficient_funds'],
    ['out of gas: one', 'reverted'],
    ['missing trie node', 'missing_state'],
    ['the method x does not exist/is not available', 'unsupported'],
    ['something of its own', 'unknown'],
  ] as const) {
    const answer = await ask(
      () => new Refusal(said),
      () => new Refusal(`${said}, or so`),
    )
    t.notMatch(answer, { error: { message: said } })
    t.equal(answer?.ok === false && classifyCallFailure(answer.error).type, plain, said)
  }
})

t.test('a field that no hash has is of a quorum: one node makes no fork of its own', async (t) => {
  const header = { ...headed(), size: '0x5' }
  const lie = { ...headed(), size: '0x6', newRoot: HASH }
  t.strictSame(
    await readsOf([always(lie), always(header), always(header)]).ask('eth_getBlockByNumber', '0x64', false),
    {
      ok: true,
      value: headed(),
    },
  )
  t.match(await readsOf([always(header), always(header)]).ask('eth_getBlockByNumber', '0x64', false), {
    value: { size: '0x5' },
  })
})
