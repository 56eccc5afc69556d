/** Requests are refused by what is known of a network now, not by what was known before a quiet time. */
import t from 'tap'
import { createRequireUsable } from '../../src/compose/usable-networks.ts'

type Kernel = Parameters<typeof createRequireUsable>[0]

t.test('a network that stalled before a quiet time and moves again is served at once', async (t) => {
  const state = { now: 0, rows: [{ chain_id: 1, reason: 'no node answers', ms: 60_000 }], reads: 0 }
  const pool = {
    query: async () => {
      state.reads += 1
      return { rows: state.rows }
    },
  }
  const chainOf = () => ({ settings: { network: 'ethereum', environment: 'testnet' } })
  const requireUsable = createRequireUsable({ pool, chainOf, clock: () => state.now } as unknown as Kernel)
  await t.rejects(requireUsable(1), { code: 'network_unavailable' })
  await requireUsable(2)
  t.equal(state.reads, 1, 'an answer is used for a second')
  state.rows = []
  state.now = 3_600_000
  await requireUsable(1)
  state.rows = [{ chain_id: 1, reason: 'no node answers', ms: 60_000 }]
  state.now += 2_000
  await requireUsable(1)
  await new Promise((resolve) => setImmediate(resolve))
  await t.rejects(requireUsable(1), { code: 'network_unavailable' }, 'while requests come, nobody waits for a read')
})
