/** The gas that a client may state for a call, by the rules of its chain. */
import t from 'tap'
import { rulesOf } from '../../src/chain/forks.ts'
import { requireSendable } from '../../src/contract-calls/request-call.ts'
import { contractCallBody } from '../../src/contract-calls/schemas.ts'

t.test('up to Osaka a call may have 2^24 gas, and since Amsterdam what nodes estimate', (t) => {
  const most = (fork: 'osaka' | 'amsterdam') => rulesOf(fork).transaction
  for (const fork of ['osaka', 'amsterdam'] as const) {
    t.doesNotThrow(() => requireSendable(most(fork), most(fork)))
    t.throws(() => requireSendable(most(fork) + 1n, most(fork)), { code: 'validation_failed' })
  }
  t.strictSame([most('osaka'), most('amsterdam')], [16_777_216n, 50_000_000n])
  t.equal(contractCallBody.properties.gas_limit.maximum, 50_000_000)
  t.end()
})
