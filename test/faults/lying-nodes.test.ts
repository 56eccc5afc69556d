/**
 * A minority of the nodes of a chain lies, while payments are requested, blocks leave the chain and processes are killed:
 * nothing is paid twice, nothing is told that is not on the honest chain, and nothing is taken back that did not leave it.
 * Everything settles while the lies are told. `long/lying-nodes-all` tells every lie; `LIE=eth_getBalance/none` only that one.
 */
import t from 'tap'
import { oneByOne, together, tryLies, unaltered } from '../support/lying-trials.ts'

/** Those that would harm most, of each kind one. */
const WORST = [
  'eth_getBlockByNumber/head higher',
  'eth_getBlockByNumber/another block 0',
  'eth_getBlockReceipts/failed',
  'eth_getTransactionCount/+200',
  'eth_call/more in each answer of a multicall',
  'eth_feeHistory/× 1000',
  'eth_sendRawTransaction/swallowed',
  'several/forged deposits',
  'several/nonces used by others',
]

t.test('one of three nodes that lies delays, and does nothing else', async (t) => {
  const planned = [...oneByOne(WORST), ...together({ reorg: 1, kill: 'chain-follower' })]
  const { asked } = await tryLies(t, { nodes: 3, liars: 1 }, planned)
  t.strictSame(unaltered(asked), [], 'every method that the service calls is lied about')
})

t.end()
