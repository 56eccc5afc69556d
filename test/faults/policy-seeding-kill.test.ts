/**
 * kill -9 of the dispatcher before and after each append of a seeding, while the tenant goes on sending: what was spent before the shadow is
 * in its counters once.
 */
import t from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { roleUrls } from '../support/database-login.ts'
import { TEST_CHAIN } from '../support/log.ts'
import { policyOf, withPast } from '../support/policy-past.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { type Place, prepareVictim } from '../support/victims.ts'

/** More sums than two events hold. */
const RECIPIENTS = 2_100
const AT_ONCE = 100
const KILLS: readonly Place[] = [
  { moment: 'before', step: 'append CountersSeeded' },
  { moment: 'after', step: 'append CountersSeeded' },
  { moment: 'after', step: 'append CountersSeeded' },
  { moment: 'before', step: 'append PolicySeeded' },
]

t.test('a dispatcher that is killed at each step of a seeding leaves sums that are right', async (t) => {
  const past = await withPast(t)
  const urlAs = await roleUrls(t, past.url)
  const env = {
    ...{ DATABASE_URL: urlAs('dispatcher'), LOG_LEVEL: 'fatal', LEASE_MS: '1000' },
    ...{ ETHEREUM_RPC_URLS: 'http://127.0.0.1:1', ETHEREUM_CHAIN_ID: `${TEST_CHAIN}` },
  }
  const prepare = () => {
    const victim = prepareVictim('dispatcher', env)
    t.after(victim.kill)
    return victim
  }
  const recipientOf = (n: number) => `0x${(n + 1).toString(16).padStart(40, '0')}`
  for (let n = 0; n < RECIPIENTS; n += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => past.transfer({ to: recipientOf(n + i) })))
  await past.shadow(
    policyOf([{ id: 'few', effect: 'limit', limit: { count: 9, window_seconds: 86_400, per: 'recipient' } }]),
  )
  const inForce = await past.inForce()
  let sent = 0
  const sendOne = async () => {
    await past.transfer({ to: recipientOf(sent) }, inForce)
    sent += 1
  }
  for (const place of KILLS) {
    const victim = prepare()
    await sendOne()
    const { armed } = victim.arm(place)
    await armed
    void victim.start()
    t.ok(await victim.ended, `killed ${place.moment} ${place.step}`)
    t.notOk(await past.isSeeded())
    await sendOne()
  }
  const last = prepare()
  await last.start()
  await eventually(past.isSeeded)
  const counters = Object.values(await past.spent())
  t.equal(counters.length, RECIPIENTS)
  t.equal(counters.filter((spent) => spent === '2').length, sent, 'what was sent meanwhile counts once more')
  t.equal(counters.filter((spent) => spent === '1').length, RECIPIENTS - sent)
  t.strictSame(
    (await compareLive(past.pool, LOG_CONTENTS, { tables: ['spend_buckets', 'policies', 'policy_versions'] }))
      .differences,
    [],
  )
})
