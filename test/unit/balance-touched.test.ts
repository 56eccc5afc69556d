/** Which balances a block may have changed. */
import t from 'tap'
import { touchedBy } from '../../src/balances/touched.ts'
import type { Block } from '../../src/chain/blocks.ts'
import { DEPOSIT_TOPIC, TRANSFER_TOPIC, WITHDRAWAL_TOPIC } from '../../src/chain/erc20.ts'

t.test('a block touches senders, recipients, both sides of a token transfer, and who wraps or unwraps', async (t) => {
  const topic = (address: string) => `0x${address.slice(2).padStart(64, '0')}`
  const [alice, bob, carol, token] = ['a', 'b', 'c', 'd'].map((digit) => `0x${digit.repeat(40)}`) as [
    string,
    string,
    string,
    string,
  ]
  const transaction = (
    to: string | null,
    logs: Block['transactions'][number]['logs'] = [],
  ): Block['transactions'][number] => ({
    hash: '0x1',
    from: alice,
    to,
    nonce: 0,
    value: 1n,
    input: '0x',
    status: 'success',
    gasUsed: 1n,
    effectiveGasPrice: 1n,
    offer: null,
    logs,
    authorizations: [],
    hasBlobs: false,
  })
  const log = (...topics: string[]) => ({ address: token, topics, data: topic('0x5'), logIndex: 0 })
  const block = (...transactions: Block['transactions']): Block => ({
    number: 1,
    hash: '0x2',
    parentHash: '0x1',
    timestamp: 1,
    baseFeePerGas: 1n,
    income: null,
    transactions,
  })
  const transfer = log(TRANSFER_TOPIC, topic(bob), topic(carol))
  const nft = log(TRANSFER_TOPIC, topic(bob), topic(carol), topic('0x7'))
  const [deposit, withdrawal] = [log(DEPOSIT_TOPIC, topic(bob)), log(WITHDRAWAL_TOPIC, topic(carol))]
  const malformed = [log(DEPOSIT_TOPIC), log(WITHDRAWAL_TOPIC, topic(bob), topic(carol)), log(topic('0x9'), topic(bob))]
  t.strictSame(touchedBy([block(transaction(null, [deposit, withdrawal, ...malformed]))]), [
    { address: alice, contract: null },
    { address: bob, contract: token },
    { address: carol, contract: token },
  ])
  t.strictSame(
    touchedBy([block(transaction(token, [transfer, transfer, nft])), block(transaction(null), transaction(bob))]),
    [
      { address: alice, contract: null },
      { address: token, contract: null },
      { address: bob, contract: token },
      { address: carol, contract: token },
      { address: bob, contract: null },
    ],
  )
})
