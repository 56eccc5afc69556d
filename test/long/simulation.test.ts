/**
 * Lane, submitter, follower and dispatcher over thousands of seeded schedules with crashes, false answers, lags and
 * reorgs: each accepted transfer is on chain once or ended with a reason, and the log records all of it.
 */
import t from 'tap'
import { simulate } from '../simulation/world.ts'

const SEED = Number(process.env.SIMULATION_SEED ?? Date.now() % 2 ** 31)
const SCHEDULES = Number(process.env.SIMULATION_SCHEDULES ?? 600)

t.test(`no schedule breaks an invariant (SIMULATION_SEED=${SEED} SIMULATION_SCHEDULES=${SCHEDULES})`, async (t) => {
  const settled: Record<string, number> = {}
  let steps = 0
  for (let seed = SEED; seed < SEED + SCHEDULES; seed += 1) {
    const outcome = await simulate(seed)
    steps += outcome.steps
    for (const [state, count] of Object.entries(outcome.settled)) settled[state] = (settled[state] ?? 0) + count
  }
  t.comment(`${SCHEDULES} schedules, ${steps} steps: ${JSON.stringify(settled)}`)
  for (const state of ['confirmed', 'reverted', 'failed', 'cancelled']) t.ok(settled[state], `${state} transfers exist`)
})
