/** The simulation can fail: it detects each deliberately broken law, and each defect that it found. */
import t from 'tap'
import { FOUND, HONEST, MUTANTS, type Mutant } from '../simulation/mutants.ts'
import { LawBroken, simulate } from '../simulation/world.ts'

const SCHEDULES = 1_000

/** The first schedule that shows it. */
async function caught(mutant: Mutant, from: number): Promise<{ seed: number; message: string } | null> {
  for (let seed = from; seed < from + SCHEDULES; seed += 1) {
    try {
      await simulate(seed, mutant)
    } catch (error) {
      if (!(error instanceof LawBroken)) throw error
      return { seed, message: error.message }
    }
  }
  return null
}

for (const mutant of MUTANTS) {
  t.test(`caught: ${mutant.name}`, async (t) => {
    const found = await caught(mutant, 1)
    if (found === null) return void t.fail(`${SCHEDULES} schedules did not detect the mutant`)
    const [first = '', again = ''] = found.message.split('\n')
    t.comment(first)
    t.match(again, `SIMULATION_SEED=${found.seed}`, 'the message has the seed to repeat the run')
    t.match(found.message, 'follower 1: acquire follow-1', 'the message has every step')
    await t.resolves(simulate(found.seed), 'the same schedule breaks nothing without the mutant')
  })
}

for (const { seed, ...mutant } of FOUND) {
  t.test(`mended: ${mutant.name}`, async (t) => {
    const found = await caught(mutant, seed)
    if (found === null) return void t.fail(`${SCHEDULES} schedules did not detect the mutant`)
    t.comment(found.message.split('\n')[0] ?? '')
    await t.resolves(simulate(found.seed, { ...HONEST }))
  })
}

t.test('a seed gives one schedule, with the same end each time', async (t) => {
  for (const seed of [1, 2, 3]) t.strictSame(await simulate(seed), await simulate(seed))
})
