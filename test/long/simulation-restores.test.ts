/**
 * Ten thousand random histories in which the database goes back, blocks leave the chain, clocks step and another program
 * sends equal payments with the same key: each request that is reported `confirmed` has its own transaction on chain, and
 * none has two.
 */
import t from 'tap'
import { RESTORE_MUTANTS } from '../simulation/mutants.ts'
import { simulateRestores } from '../simulation/restores.ts'
import { LawBroken } from '../simulation/world.ts'
import { runHistories } from '../support/restore-histories.ts'

const SEED = Number(process.env.SIMULATION_SEED ?? Date.now() % 2 ** 31)
const HISTORIES = Number(process.env.SIMULATION_HISTORIES ?? 10_000)
const SEARCHED = 400

t.test(`no restore makes a payment twice, or tells of one that was not made (SIMULATION_SEED=${SEED})`, async (t) => {
  await t.resolves(runHistories(t, SEED, HISTORIES))
})

for (const mutant of RESTORE_MUTANTS) {
  t.test(`caught: ${mutant.name}`, async (t) => {
    for (let seed = 1; seed <= SEARCHED; seed += 1) {
      const broken = await simulateRestores(seed, mutant).catch((error: unknown) => error)
      if (!(broken instanceof Error)) continue
      if (!(broken instanceof LawBroken)) throw broken
      t.comment(broken.message.split('\n')[0] ?? '')
      t.match(broken.message, `SIMULATION_SEED=${seed}`, 'the message has the seed to repeat the run')
      return void (await t.resolves(simulateRestores(seed), 'the same history breaks nothing without the mutant'))
    }
    t.fail(`${SEARCHED} histories did not detect the mutant`)
  })
}

t.test('a seed gives one history, with the same end each time', async (t) => {
  for (const seed of [1, 2, 3]) t.strictSame(await simulateRestores(seed), await simulateRestores(seed))
})
