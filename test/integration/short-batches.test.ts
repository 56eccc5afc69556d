/** A lane whose signer signs less than it is asked for, as mpc parties do, on a real PostgreSQL. */
import t from 'tap'
import { withLane } from '../support/lane-stage.ts'

t.test('all that waits is signed, although the signer signs only some of it at once', async (t) => {
  const lane = await withLane(t, { balance: 10n ** 18n })
  lane.meanwhile.signedAtOnce = 2
  const ids: string[] = []
  for (let count = 0; count < 5; count += 1) ids.push(await lane.accept())
  await lane.drain()
  const states = await Promise.all(ids.map(async (id) => (await lane.read(id)).state))
  t.strictSame(states, ['signed', 'signed', 'signed', 'signed', 'signed'], 'without waiting for new work')
})

t.end()
