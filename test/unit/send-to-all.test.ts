import t from 'tap'
import type { Submission } from '../../src/chain/rpc-errors.ts'
import { firstToAccept, together } from '../../src/chain/several-nodes.ts'

const say = (outcome: Submission['outcome']): Submission => ({ outcome, message: `it is ${outcome}` })
const outcomeOf = (...outcomes: Submission['outcome'][]) => together(outcomes.map(say)).outcome

t.test('a node that keeps the bytes to itself, or never answers, delays nothing', async (t) => {
  const never = new Promise<never>(() => undefined)
  const accepted = Promise.resolve([say('accepted'), say('accepted')])
  t.strictSame(await firstToAccept([never, accepted]), [say('accepted'), say('accepted')])
})

t.test('each of several bytes counts as accepted if any node has accepted it', async (t) => {
  const answers = [
    [say('accepted'), say('pool_full')],
    [say('unavailable'), say('accepted')],
  ]
  t.strictSame(await firstToAccept(answers.map((one) => Promise.resolve(one))), [say('accepted'), say('accepted')])
})

t.test('one node of several cannot say that bytes are refused for ever', async (t) => {
  t.equal(outcomeOf('rejected', 'unavailable', 'unavailable'), 'unknown', 'the others are down')
  t.equal(outcomeOf('rejected', 'fee_too_low', 'fee_too_low'), 'fee_too_low')
  t.equal(outcomeOf('rejected', 'accepted', 'unavailable'), 'accepted')
  t.equal(outcomeOf('nonce_too_low', 'pool_full'), 'pool_full')
  t.equal(outcomeOf('nonce_too_low', 'rejected'), 'unknown')
  t.equal(outcomeOf('rejected', 'rejected', 'accepted'), 'accepted', 'then it is sent')
})

t.test('more than half of them can, and a single one', async (t) => {
  t.equal(outcomeOf('unavailable', 'rejected', 'rejected'), 'rejected')
  t.equal(outcomeOf('rejected'), 'rejected')
  t.equal(outcomeOf('nonce_too_low', 'nonce_too_low', 'fee_too_low'), 'nonce_too_low')
})

t.test('without an answer the bytes are sent again', async (t) => {
  t.strictSame(together([say('unavailable'), say('unavailable')]), say('unavailable'))
  t.equal(together([]).outcome, 'unavailable')
})
